"""An answer of lines (NDJSON): each page is sent as soon as it is read, so that nobody has to hold all of them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from asgi_correlation_id import correlation_id
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.deadline import RenewedDeadline
from gateway.documents import Delivery, Order, PageResult
from gateway.errors import OcrError
from gateway.web.disconnect import CLIENT_CLOSED, ClientClosed, while_connected
from gateway.web.negotiation import STREAM
from gateway.web.orders import built, note, opened_and_settled, results_of
from gateway.web.record import record_of
from gateway.web.schemas import EndOut, StreamLine, file_warnings, result_out, start_out
from gateway.web.services import Services

_FIELDS = {"X-Accel-Buffering": "no", "Cache-Control": "no-store"}
"""nginx would collect lines before it passes them on."""

GRACE_S = 1.0
"""How long after the deadline the client may take to fetch what is left."""


class LinesResponse(Response):
    """Reads an order while it is sent. What goes wrong before the first line is a problem document, as usual.

    The stream of a client that leaves, or does not fetch its lines, ends without its last line, and so does the
    connection.
    """

    def __init__(self, request: Request, order: Order, services: Services) -> None:
        super().__init__(media_type=STREAM, headers=_FIELDS)
        del self.headers["content-length"]
        self._request = request
        self._deadline = RenewedDeadline(
            order.deadline, longest_s=services.limits.max_stream_s, stopping=services.draining
        )
        self._order = replace(order, renewed=self._deadline.renew)
        self._services = services
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's entry."""
        try:
            await while_connected(self._answer(send), receive)
        except (ClientClosed, TimeoutError):
            if not self._started:
                raise
            record = record_of(scope)
            record.code, record.status = "client_closed", CLIENT_CLOSED

    async def _answer(self, send: Send) -> None:
        async with (
            opened_and_settled(self._request, self._order, self._services) as delivery,
            aclosing(self._lines(delivery)) as lines,
        ):
            async for line in lines:
                await self._send(line, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _lines(self, delivery: Delivery) -> AsyncGenerator[StreamLine, None]:
        """The lines; a request for a single page fails as a whole if that fails."""
        async with aclosing(results_of(self._request, delivery)) as results:
            first = await anext(results) if delivery.total == 1 else None
            if first and isinstance(first.outcome, OcrError):
                raise first.outcome
            yield start_out(delivery, self._services.models(), request_id=correlation_id.get() or "")
            done = errors = 0
            async for result in _with_first(first, results):
                done, errors = done + 1, errors + isinstance(result.outcome, OcrError)
                note(record_of(self._request.scope), result)
                build = partial(result_out, result, done=done, total=delivery.total)
                yield await built(build, self._order, self._deadline.latest, self._services)
        yield EndOut(
            pages=done - errors,
            errors=errors,
            warnings=file_warnings(delivery.files),
            stages_ms=record_of(self._request.scope).times.milliseconds(),
        )

    async def _send(self, line: StreamLine, send: Send) -> None:
        async with asyncio.timeout(self._deadline.latest.remaining() + GRACE_S):
            if not self._started:
                self._started = True
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": to_json(line) + b"\n", "more_body": True})


async def _with_first(first: PageResult | None, rest: AsyncIterator[PageResult]) -> AsyncIterator[PageResult]:
    if first:
        yield first
    async for result in rest:
        yield result
