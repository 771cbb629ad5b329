"""The end of a gateway process, in an order that loses no request.

    serving ──SIGTERM──► draining ──after the delay──► closing ──after the last answer──► closed

Whoever sends requests here learns late that this instance goes: a load balancer asks `/readyz` every few seconds. So at
first only `/readyz` changes, and every answer closes its connection; requests are served as before. After the delay
the listener closes and what is in flight ends, at its own deadline at the latest: a stalled upload is a 408 then.
Connections that are open even then, of clients that don't read their answers, are cut.

uvicorn by itself closes the listener at once, and then waits for ever or answers requests in flight with 500.
"""

import asyncio
import logging
import math
import selectors
import signal
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from gateway import metrics
from gateway.errors import SettingsError

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# What was accepted in the last moment before the listener closed may take this long to send its first bytes.
SETTLE_S = 0.2
# How often the event loop may turn to accept who waits, before the listener closes all the same.
LAST_ACCEPTS = 100
# For answers given at the deadline: they still have to be sent.
GRACE_S = 1.0

logger = logging.getLogger(__name__)


class DrainingServer(uvicorn.Server):
    """uvicorn's server, ended by signals.

    SIGTERM drains. SIGINT, or a second SIGTERM, skips the delay. One signal more kills the process.

    Attributes:
        draining: whether the end has begun.
    """

    def __init__(self, config: uvicorn.Config, *, delay_s: float, longest_request_s: float, ops_port: int = 0) -> None:
        """Prepare; `serve` opens the listener.

        Args:
            config: its graceful timeout is set here.
            delay_s: how long requests are taken after SIGTERM.
            longest_request_s: the longest deadline that a request may have.
            ops_port: a second port to listen on; 0 is none.
        """
        super().__init__(config)
        self.draining = False
        self._delay_s = delay_s
        self._ops_port = ops_port
        self._cut_after_s = longest_request_s + GRACE_S
        # A second wall behind ours: at its end uvicorn cancels tasks, and answers 500 where it can.
        config.timeout_graceful_shutdown = math.ceil(self._cut_after_s + SETTLE_S)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals while the server runs. uvicorn's own handlers close at once, and raise them again later."""
        loop = asyncio.get_running_loop()

        def handle(number: int, _: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._on_signal, number)

        before = {number: signal.signal(number, handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the listeners."""
        await super().startup(sockets)
        if self._ops_port:
            self.servers.append(await self._listen_for_operators())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listener and wait for what is in flight, within bounds."""
        await self._close_listeners()
        logger.info("closing: no new connections; %s", self._in_flight())
        await asyncio.sleep(SETTLE_S)
        cutting = asyncio.get_running_loop().call_later(self._cut_after_s, self._cut)
        await super().shutdown(sockets)
        cutting.cancel()
        logger.info("closed")

    async def _listen_for_operators(self) -> asyncio.Server:
        config, state = self.config, self.lifespan.state

        def connection() -> asyncio.Protocol:
            return config.http_protocol_class(config=config, server_state=self.server_state, app_state=state)  # type: ignore[call-arg]  # as uvicorn calls it

        loop = asyncio.get_running_loop()
        try:
            return await loop.create_server(connection, config.host, self._ops_port, backlog=config.backlog)
        except OSError as error:
            raise SettingsError(f"OCR_OPS_PORT {self._ops_port} can't be listened on: {error}") from error

    async def _close_listeners(self) -> None:
        """Close them at a moment when nobody waits to be accepted: whoever does so would be reset."""
        listeners = [listener for server in self.servers for listener in server.sockets]
        for _ in range(LAST_ACCEPTS):
            if not any_waiting(listeners):
                break
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGTERM and self.started and not self.draining:
            self._drain()
        else:
            self._hurry()

    def _drain(self) -> None:
        self._begin()
        logger.info("draining: requests are taken for %g s more; %s", self._delay_s, self._in_flight())
        asyncio.get_running_loop().call_later(self._delay_s, self._close)

    def _hurry(self) -> None:
        self._begin()
        self._close()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def _begin(self) -> None:
        self.draining = True
        metrics.DRAINING.set(1)

    def _close(self) -> None:
        self.should_exit = True  # uvicorn looks every 0.1 s, and calls `shutdown`

    def _cut(self) -> None:
        connections = list(self.server_state.connections)
        if connections:
            logger.warning("cut connections, whose clients don't read: %d", len(connections))
        for connection in connections:
            connection.transport.abort()

    def _in_flight(self) -> str:
        return f"requests in flight: {len(self.server_state.tasks)}"


def any_waiting(listeners: Iterable[socket.socket]) -> bool:
    """Whether a connection waits to be accepted at this very moment."""
    with selectors.DefaultSelector() as selector:
        for listener in listeners:
            selector.register(listener, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))
