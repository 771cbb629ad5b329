"""HTTP connections with the limits that uvicorn lacks; whatever they refuse is answered with a problem document.

uvicorn cuts neither a header that trickles or never ends, nor a client that is silent, nor one that does not fetch its
answer; it takes requests without Host, loses the body of one that asks for an upgrade, answers broken ones in plain
text, and closes in a way that may cost a client its answer. `GuardedConnection` adds what is missing, around methods
of uvicorn's class that `tests/web/test_connections.py` pins: a changed uvicorn fails there, by name.

A request that is broken in its header, or late with it, is answered here. One that is broken in its body has been
handed over already: reading the body raises the error there, so that there is one answer and one line in the log.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import httptools
from pydantic_core import to_json
from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gateway import metrics
from gateway.web.kernel_queue import waited_s
from gateway.web.lingering import FLUSH_S, LingeringTransport
from gateway.web.middleware import new_request_id
from gateway.web.problems import MEDIA_TYPE, Problem, fields_of, make_problem
from gateway.web.record import record_of

# RFC 3986, 3.2.2, without what no client sends: user names and future address forms.
_HOST = re.compile(rb"([A-Za-z0-9._~%!$&'()*+,;=-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What clients may do before they have sent a request.

    Attributes:
        connections: most of them at once.
        header_bytes: of a request's first line and header.
        header_timeout_s: from the connection, or the first byte of a later request, to the end of the header.
    """

    connections: int
    header_bytes: int
    header_timeout_s: float


class GuardedConnection(HttpToolsProtocol):
    """One connection; its limits hold for each request on it."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._header_room = limits.header_bytes
        self._in_header = True
        self._begun = False
        self._refused = False
        self._fault = "the request is not valid HTTP/1.1"
        self._header_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Start the clock, or refuse one connection too many."""
        super().connection_made(LingeringTransport(transport, lambda: self._begun))
        metrics.CONNECTIONS.inc()
        self._await_header()
        if len(self.connections) > self._limits.connections:
            self._refuse("overloaded", f"more than {self._limits.connections} connections are open")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop every clock."""
        metrics.CONNECTIONS.dec()
        assert isinstance(self.transport, LingeringTransport)
        self.transport.lost()
        self._stop_header_timer()
        self._stop_flush_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what comes; a header no further than its limit, and nothing after a refusal."""
        self._unset_keepalive_if_required()
        if self._in_header:
            self._await_header()
        while data and not self._refused and not self.transport.is_closing():
            piece, data = self._next_piece(data)
            self._parse(piece)
            if self._in_header and self._header_room == 0:
                self._refuse("header_too_large", f"the header has more than {self._limits.header_bytes:,} bytes")

    def pause_writing(self) -> None:
        """Give the client a while to fetch what waits to be sent."""
        super().pause_writing()
        self._flush_timer = self.loop.call_later(FLUSH_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It has."""
        self._stop_flush_timer()
        super().resume_writing()

    # httptools's callbacks

    def on_message_begin(self) -> None:
        """A request begins."""
        self._begun = True
        self._await_header()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check what uvicorn does not, then let it start the request."""
        if self._asks_for_upgrade():
            return
        fault = header_fault(self.parser.get_http_version(), [value for name, value in self.headers if name == b"host"])
        if fault:
            self._fault = fault
            raise httptools.HttpParserError(fault)
        self._in_header = False
        self._header_room = self._limits.header_bytes
        self._stop_header_timer()
        super().on_headers_complete()
        record_of(cast("Scope", self.cycle.scope)).arrived_at -= waited_s(self.transport)

    def on_message_complete(self) -> None:
        """A request has been read."""
        if self._asks_for_upgrade():
            return
        self._in_header = True
        self._begun = False
        super().on_message_complete()

    # ours

    def _next_piece(self, data: bytes) -> tuple[bytes, bytes]:
        if not self._in_header:
            return data, b""
        room = self._header_room
        self._header_room = max(0, room - len(data))
        return data[:room], data[room:]

    def _parse(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                data = self._without_upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError:
                self._refuse("invalid_request", self._fault)
                return
            else:
                return

    def _asks_for_upgrade(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _without_upgrade(self, rest: bytes) -> bytes:
        """The request without the field, as RFC 9110, 7.8 allows, for a new parser: the old one skips the body."""
        line = b"%s %s HTTP/1.1" % (self.parser.get_method(), self.url)
        fields = [b"%s: %s" % field for field in self.headers if field[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([line, *fields, b"", rest])

    def _await_header(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._limits.header_timeout_s, self._on_header_timeout)

    def _on_header_timeout(self) -> None:
        self._header_timer = None
        if self._begun:
            self._refuse("header_timeout", f"no whole header came within {self._limits.header_timeout_s:g} s")
        elif not self._answering:
            self.transport.close()

    def _stop_header_timer(self) -> None:
        if self._header_timer:
            self._header_timer.cancel()
        self._header_timer = None

    def _stop_flush_timer(self) -> None:
        if self._flush_timer:
            self._flush_timer.cancel()
        self._flush_timer = None

    @property
    def _answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _refuse(self, code: str, detail: str) -> None:
        """Read no further, and say so: here, or where the request is being answered."""
        self._refused = True
        self._stop_header_timer()
        if not self._answering:
            self._begun = True
            self._answer(make_problem(code, detail, "", new_request_id()))
            return
        self.cycle.keep_alive = False
        if not self._in_header:
            record_of(cast("Scope", self.cycle.scope)).broken = detail
            self.cycle.more_body = False
            self.cycle.message_event.set()

    def _answer(self, problem: Problem) -> None:
        body = to_json(problem, exclude_none=True)
        fields = {
            "content-type": MEDIA_TYPE,
            "content-length": str(len(body)),
            "connection": "close",
            "x-request-id": problem.request_id,
            **fields_of(problem),
        }
        header = [f"{name}: {value}\r\n".encode() for name, value in fields.items()]
        self.transport.write(b"".join([STATUS_LINE[problem.status], *header, b"\r\n", body]))
        self.transport.close()
        metrics.CONNECTIONS_REFUSED.labels(problem.code).inc()
        logger.info("refused %s", problem.code, extra={"code": problem.code, "request_id": problem.request_id})


def header_fault(version: str, hosts: list[bytes]) -> str:
    """What is wrong with a header that can be parsed; empty if nothing is."""
    if version not in ("1.0", "1.1"):
        return f"HTTP/{version} is not spoken here; use HTTP/1.1"
    if len(hosts) != 1 and (hosts or version == "1.1"):
        return f"a request must have one Host field, not {len(hosts)}"
    if hosts and not _HOST.fullmatch(hosts[0]):
        return "the Host field is not a host and a port"
    return ""


def guarded(limits: ConnectionLimits) -> Callable[..., GuardedConnection]:
    """What uvicorn takes for `http`."""
    return partial(GuardedConnection, limits=limits)
