"""Reading a request's body within its limits: bytes, time, and no encoding that hides its size."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from gateway.deadline import Deadline
from gateway.errors import BodyTimeout, BodyTooLarge, InvalidRequest
from gateway.web.disconnect import ClientClosed
from gateway.web.options import OptionSource


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says, whatever its kind.

    Attributes:
        data: the image's bytes, not looked at yet.
        options: those that came with it, unchecked.
    """

    data: bytes
    options: OptionSource


def check_declared(headers: Headers, *, max_bytes: int) -> None:
    """Refuse from its headers alone a body that would not be taken.

    Raises:
        BodyTooLarge: its declared length is over the limit.
        InvalidRequest: it is encoded, or its length is no number.
    """
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise InvalidRequest(
            "Content-Encoding is not supported, image types are compressed already; send the body as it is"
        )
    declared = headers.get("content-length", "0")
    if not (declared.isascii() and declared.isdigit()):
        raise InvalidRequest("Content-Length must be a whole number of bytes")
    if len(declared) > len(str(max_bytes)) or int(declared) > max_bytes:
        raise _too_large(max_bytes)


async def read_chunks(receive: Receive, *, max_bytes: int, deadline: Deadline) -> AsyncIterator[bytes]:
    """The body as it arrives; never more than `max_bytes` in all.

    Raises:
        BodyTooLarge: at the first byte over the limit.
        BodyTimeout: the deadline passed before the last chunk came.
        ClientClosed: the client left before that.
    """
    received = 0
    more = True
    while more:
        message = await _receive_before(deadline, receive)
        if message["type"] == "http.disconnect":
            raise ClientClosed
        chunk: bytes = message.get("body", b"")
        received += len(chunk)
        if received > max_bytes:
            raise _too_large(max_bytes)
        more = message.get("more_body", False)
        yield chunk


async def read_all(chunks: AsyncIterator[bytes]) -> bytes:
    """The whole body. Twice its size is held for a moment."""
    return b"".join([chunk async for chunk in chunks])


async def _receive_before(deadline: Deadline, receive: Receive) -> Message:
    # A client that always has a byte ready never lets the timeout below fire: look at the clock, too.
    if deadline.expired:
        raise _too_slow(deadline)
    try:
        async with asyncio.timeout(deadline.remaining()):
            return await receive()
    except TimeoutError as error:
        raise _too_slow(deadline) from error


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"the body is larger than the limit of {max_bytes:,} bytes; send a smaller or more compressed image"
    )


def _too_slow(deadline: Deadline) -> BodyTimeout:
    return BodyTimeout(
        f"the body did not arrive within {deadline.timeout_s:g} s; "
        "send a smaller image, or ask for more time with timeout in the query"
    )
