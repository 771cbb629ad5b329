"""From a request to what the pipeline needs: data, options and a deadline, whatever the kind of body."""

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Protocol

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from gateway.deadline import Deadline
from gateway.errors import BodyTimeout, InvalidRequest
from gateway.web.body import Body, check_declared, read_all, read_chunks
from gateway.web.json_body import parse_json
from gateway.web.multipart import read_form
from gateway.web.options import OptionsModel, OptionSource, RequestOptions, read_options
from gateway.web.record import record_of
from gateway.web.services import RequestLimits


@dataclass(frozen=True, slots=True)
class Payload:
    """A request, understood.

    Attributes:
        files: their bytes, not looked at yet.
        options: checked.
        deadline: counts from the request's arrival.
    """

    files: tuple[bytes, ...]
    options: RequestOptions
    deadline: Deadline


async def read_payload(request: Request, model: OptionsModel, limits: RequestLimits) -> Payload:
    """Read and check a request of any of the three kinds.

    While the body is read only a timeout in the query is known; one in the body counts from the arrival as well.

    Raises:
        InvalidRequest: something in it can't be understood; the body may not have been read.
        BodyTooLarge, BodyTimeout: the body is over a limit.
        ClientClosed: the client left.
    """
    arrived_at = record_of(request.scope).arrived_at
    check_declared(request.headers, max_bytes=limits.max_body_bytes)
    query = OptionSource("query", tuple(request.query_params.multi_items()))
    upload = _deadline(read_options(model, [query]), limits, arrived_at)
    body = await _read_body(request, limits, upload)
    options = read_options(model, [query, body.options])
    deadline = _deadline(options, limits, arrived_at)
    if deadline.expired:
        raise BodyTimeout(f"the upload alone took longer than the timeout of {deadline.timeout_s:g} s; ask for more")
    return Payload(body.files, options, deadline)


def _deadline(options: RequestOptions, limits: RequestLimits, arrived_at: float) -> Deadline:
    asked = "timeout" in options.model_fields_set
    from_client = asked and options.timeout <= limits.timeout_s
    return Deadline(arrived_at + options.timeout, options.timeout, from_client=from_client)


async def _read_body(request: Request, limits: RequestLimits, deadline: Deadline) -> Body:
    content_type = request.headers.get("content-type", "")
    read = _READERS.get(parse_options_header(content_type)[0], _read_raw)
    chunks = read_chunks(
        request.receive, max_bytes=limits.max_body_bytes, deadline=deadline, slow_s=limits.body_timeout_s
    )
    return await read(content_type, chunks, max_files=limits.max_files)


async def _read_raw(_: str, chunks: AsyncIterator[bytes], *, max_files: int) -> Body:  # noqa: ARG001 - one file always
    data = await read_all(chunks)
    if not data:
        raise InvalidRequest("the body is empty; send an image, as in: curl --data-binary @photo.jpg")
    return Body((data,), OptionSource("body", ()))


async def _read_json(_: str, chunks: AsyncIterator[bytes], *, max_files: int) -> Body:
    return parse_json(await read_all(chunks), max_files=max_files)


class _Reader(Protocol):
    """Reads a body of one kind."""

    def __call__(self, content_type: str, chunks: AsyncIterator[bytes], /, *, max_files: int) -> Awaitable[Body]: ...


_READERS: dict[bytes, _Reader] = {
    b"multipart/form-data": read_form,
    b"application/json": _read_json,
}
"""By media type; every other one, or none, is a raw image, because clients rarely set it rightly."""
