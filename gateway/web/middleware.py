"""What happens around every request: an id, one log line, metrics, and an orderly end for bugs and unread bodies.

Plain ASGI: Starlette's BaseHTTPMiddleware would hide the client's leaving from the routes.
"""

import logging
import random
import re
import time
from collections.abc import Callable, Mapping

from asgi_correlation_id import CorrelationIdMiddleware, correlation_id
from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import metrics
from gateway.errors import InvalidRequest, OcrError
from gateway.logs import REQUESTS
from gateway.tracing import Trace, Tracer
from gateway.web.admission import Admission
from gateway.web.dialects.refusals import SpeakDialect
from gateway.web.ops_port import SeparatePorts
from gateway.web.permits import attach
from gateway.web.problems import internal_problem, problem_of
from gateway.web.record import RequestRecord, record_of

_SANE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"))
_PROBES = frozenset(("/livez", "/readyz", "/metrics"))
_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_AS_INTENDED = frozenset(("overloaded", "draining", "deadline_exceeded"))
"""Problems with a status of 500 or more that say nothing against the service: its limits, or the client's own."""

logger = logging.getLogger(__name__)
request_logger = logging.getLogger(REQUESTS)


def add_middleware(app: FastAPI, admission: Admission | None, ops_port: int, tracer: Tracer | None) -> None:
    """Wrap the app; the last one added is the outermost."""
    if admission:
        app.add_middleware(AdmitRequests, admission=admission)
    if ops_port:
        app.add_middleware(SeparatePorts, ops_port=ops_port)
    app.add_middleware(CatchBugs)
    app.add_middleware(SpeakDialect)
    app.add_middleware(CloseUnread)
    app.add_middleware(WatchRequests, tracer=tracer)
    app.add_middleware(
        CorrelationIdMiddleware, header_name="X-Request-Id", generator=new_request_id, validator=is_sane_id
    )


def new_request_id() -> str:
    """An id that nobody else has. It is no secret, so the kernel's costlier random numbers are not needed."""
    return f"{random.getrandbits(128):032x}"


def is_sane_id(request_id: str) -> bool:
    """Whether a request id from outside may enter logs and headers."""
    return _SANE_ID.fullmatch(request_id) is not None


class _HttpMiddleware:
    """A layer around requests; lifespan events pass it by."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI's entry."""
        handle = self._handle if scope["type"] == "http" else self.app
        await handle(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class WatchRequests(_HttpMiddleware):
    """Counts and times every request, and writes one line about it when it has ended, however it ended."""

    def __init__(self, app: ASGIApp, *, tracer: Tracer | None = None) -> None:
        super().__init__(app)
        self._tracer = tracer

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        record.traceparent = traceparent_of(scope)
        if self._tracer and scope["path"] not in _PROBES:
            record.times.sent.trace = self._tracer.begin(scope["method"], record.traceparent or "")
        started = time.perf_counter()

        async def counted_receive() -> Message:
            message = await receive()
            if record.broken:
                raise InvalidRequest(record.broken)
            record.body_bytes += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            record.status = message.get("status", record.status)
            record.answer_bytes += len(message.get("body", b""))
            await send(message)

        try:
            with metrics.REQUESTS_IN_FLIGHT.track_inprogress():
                await self.app(scope, counted_receive, counted_send)
        finally:
            _conclude(scope, record, time.perf_counter() - started)
            if trace := record.times.sent.trace:
                _end(trace, scope, record)


class CloseUnread(_HttpMiddleware):
    """Ends the connection after an answer that was given before the body was read; else the rest would be read, too."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = _has_body(scope)

        async def noting_receive() -> Message:
            nonlocal unread
            message = await receive()
            unread = message.get("more_body", False)
            return message

        async def closing_send(message: Message) -> None:
            if unread and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        await self.app(scope, noting_receive, closing_send)


class CloseWhileDraining(_HttpMiddleware):
    """Ends the connection after every answer once the service is about to stop: its clients then turn elsewhere."""

    def __init__(self, app: ASGIApp, *, draining: Callable[[], bool]) -> None:
        super().__init__(app)
        self._draining = draining

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def closing_send(message: Message) -> None:
            if message["type"] == "http.response.start" and self._draining():
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        await self.app(scope, receive, closing_send)


class CatchBugs(_HttpMiddleware):
    """Answers an exception that nobody expected. Starlette would do it outside of the rest: without id and log line."""

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noting_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, noting_send)
        except Exception:
            if started:
                raise
            logger.exception("bug while answering %s %s", scope["method"], route_of(scope))
            await internal_problem(Request(scope))(scope, receive, send)


class AdmitRequests(_HttpMiddleware):
    """Lets admission decide before a body is read; what it gives is given back when the answer has been sent."""

    def __init__(self, app: ASGIApp, *, admission: Admission) -> None:
        super().__init__(app)
        self._admission = admission

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._admission.guards(scope):
            await self._guarded(scope, receive, _with_fields(send, record_of(scope).fields))
        else:
            await self.app(scope, receive, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        try:
            with record.times.stage("admission"):
                permit = await self._admission.admit(scope, record)
        except OcrError as error:
            record.route = scope["path"]
            await problem_of(Request(scope), error)(scope, receive, send)
            return
        try:
            attach(permit, scope)
            await self.app(scope, permit.counting(receive), send)
        finally:
            permit.release(done=record.status == 200)


def route_of(scope: Scope) -> str:
    """The template of the request's route: a bounded label, unlike its path."""
    path: str = getattr(scope.get("route"), "path", record_of(scope).route or "unmatched")
    return path


def traceparent_of(scope: Scope) -> str | None:
    """The trace context that came with a request (W3C Trace Context, 3.2); None if there is none, or no valid one."""
    value = Headers(scope=scope).get("traceparent", "")
    return value if _TRACEPARENT.fullmatch(value) else None


def severity(route: str, status: int, code: str | None) -> int:
    """How severe the end of a request is: a bug is an error, models that fail are a warning, the rest is intended."""
    if status == 500:
        return logging.ERROR
    if status > 500 and code not in _AS_INTENDED:
        return logging.WARNING
    return logging.DEBUG if route in _PROBES and status == 200 else logging.INFO


def _with_fields(send: Send, fields: Mapping[str, str]) -> Send:
    """A `send` that adds these fields, as they are then, to the header of the answer."""

    async def adding_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(fields)
        await send(message)

    return adding_send


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _end(trace: Trace, scope: Scope, record: RequestRecord) -> None:
    attributes = {
        "http.request.method": scope["method"] if scope["method"] in _METHODS else "other",
        "http.route": route_of(scope),
        "http.response.status_code": record.status,
        "ocr.chunks": record.times.sent.chunks,
        "ocr.request_id": correlation_id.get() or "",
    }
    if record.code:
        attributes["error.type"] = record.code
    trace.end(attributes, failed=record.status >= 500)


def _conclude(scope: Scope, record: RequestRecord, seconds: float) -> None:
    route = route_of(scope)
    method = scope["method"] if scope["method"] in _METHODS else "other"
    metrics.REQUESTS.labels(route, method, record.status).inc()
    metrics.REQUEST_SECONDS.labels(route).observe(seconds)
    metrics.REQUEST_BYTES.labels(route).inc(record.body_bytes)
    metrics.RESPONSE_BYTES.labels(route).inc(record.answer_bytes)
    if record.release:
        metrics.RELEASE_REQUESTS.labels(record.release, record.code or "ok").inc()
    record.times.observe()
    request_logger.log(
        severity(route, record.status, record.code),
        "%s %s %d in %.0f ms",
        method,
        route,
        record.status,
        1000 * seconds,
        extra={
            "method": method,
            "route": route,
            "status": record.status,
            "duration_s": round(seconds, 4),
            "stages_s": {name: round(spent, 4) for name, spent in record.times.seconds.items()},
            "code": record.code,
            "client": record.client,
            "release": record.release,
            "traceparent": record.traceparent,
            "chunks": record.times.sent.chunks,
            "lines": record.lines,
            "failed_pages": record.failed_pages,
            "warnings": record.warnings,
            "body_bytes": record.body_bytes,
            "answer_bytes": record.answer_bytes,
        },
    )
