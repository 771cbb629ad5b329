"""Reading a request's body within its limits: bytes, time, and no encoding that hides its size."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from gateway.deadline import Deadline
from gateway.errors import BodyTimeout, BodyTooLarge, InvalidRequest
from gateway.web.disconnect import ClientClosed
from gateway.web.options import OptionSource

FAST_BYTES_PER_S = 50_000
"""A body that comes as fast as this, on the whole, may take as long as its request has time."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says, whatever its kind.

    Attributes:
        files: their bytes, not looked at yet.
        options: those that came with them, unchecked.
    """

    files: tuple[bytes, ...]
    options: OptionSource


def check_declared(headers: Headers, *, max_bytes: int) -> int | None:
    """The declared length of a body; None if it comes in chunks. Refuses from the headers what would not be taken.

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
    return None if "transfer-encoding" in headers else int(declared)


async def read_chunks(
    receive: Receive, *, max_bytes: int, deadline: Deadline, slow_s: float = math.inf
) -> AsyncIterator[bytes]:
    """The body as it arrives; never more than `max_bytes` in all.

    Args:
        receive: ASGI's.
        max_bytes: of the whole body.
        deadline: of the request.
        slow_s: what a body may take that comes slowly; every 50 kB of it buy a second, but no second twice.

    Raises:
        BodyTooLarge: at the first byte over the limit.
        BodyTimeout: time was over before the last chunk came.
        ClientClosed: the client left before that.
    """
    started_at = time.monotonic()
    received = 0
    more = True
    while more:
        bought_s = max(slow_s, received / FAST_BYTES_PER_S)
        message = await _receive_before(_earlier(deadline, started_at, bought_s), receive)
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


def _earlier(deadline: Deadline, started_at: float, timeout_s: float) -> Deadline:
    return deadline if deadline.at <= started_at + timeout_s else Deadline(started_at + timeout_s, timeout_s)


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
        f"the body did not arrive within {deadline.timeout_s:.3g} s; send a smaller image, send it faster "
        f"({FAST_BYTES_PER_S // 1000} kB/s are enough), or ask for more time with timeout in the query"
    )
