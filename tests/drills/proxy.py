"""A TCP proxy whose connections can be made to misbehave while they are in use.

Every connection is two pumps, one for each direction. A pump looks at the proxy's behaviour before it reads and before
it writes, so a change holds for connections that are open already.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"
CHUNK_BYTES = 64 * 1024
QUEUED_CHUNKS = 64
"""How much is under way in a slow direction; with less, latency would bound the throughput as well."""
TICK_S = 0.05
"""Length of the bursts that a bandwidth is made of."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER: on, nought seconds. Closing then sends a RST."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the proxy treats its connections; the default is as a wire.

    Attributes:
        latency_s: by which everything is late, in each direction.
        bytes_per_s: of each connection and direction; None for no limit.
        blackhole: connections are taken and kept, and nothing goes through.
        reset_after: connections are reset when the server has sent so many more bytes; None for never.
    """

    latency_s: float = 0.0
    bytes_per_s: float | None = None
    blackhole: bool = False
    reset_after: int | None = None


WIRE = Behaviour()


@dataclass(eq=False, slots=True)
class _Connection:
    """The two ends, and how many bytes the server may still send before a reset."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    left: int | None = None

    def reset(self) -> None:
        for writer in (self.client, self.server):
            end = writer.get_extra_info("socket")
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            writer.transport.abort()


class FaultProxy:
    """Listens on a free port of the loopback interface; `async with FaultProxy(port) as proxy:`.

    Args:
        target_port: where connections lead, on the loopback interface.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._behaviour = WIRE
        self._changed = asyncio.Event()
        self._connections: set[_Connection] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None, "not started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def address(self) -> str:
        """The same, as `host:port`."""
        return f"{LOOPBACK}:{self.port}"

    def behave(self, behaviour: Behaviour) -> None:
        """Treat all connections like this from now on."""
        self._behaviour = behaviour
        for connection in self._connections:
            connection.left = behaviour.reset_after
        self._changed.set()
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in tuple(self._connections):
            connection.reset()
        serving = tuple(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            server_reader, server = await asyncio.open_connection(LOOPBACK, self._target_port)
        except OSError:
            client.transport.abort()
            return
        connection = _Connection(client, server, self._behaviour.reset_after)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(client_reader, server, lambda _: None))
                pumps.create_task(self._pump(server_reader, client, lambda size: self._spend(connection, size)))
        finally:
            self._connections.discard(connection)
            client.close()
            server.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, spend: Callable[[int], None]
    ) -> None:
        """Carry one direction until it ends; both halves of a pump end together."""
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUED_CHUNKS)
        async with asyncio.TaskGroup() as halves:
            halves.create_task(self._read(reader, late))
            halves.create_task(self._write(late, writer, spend))

    async def _read(self, reader: asyncio.StreamReader, late: asyncio.Queue[tuple[float, bytes]]) -> None:
        data = b"not the end"
        while data:
            await self._pass_blackhole()
            data = await _read_some(reader)
            await late.put((asyncio.get_running_loop().time() + self._behaviour.latency_s, data))

    async def _write(
        self, late: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, spend: Callable[[int], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await late.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            await self._pass_blackhole()
            if not data:
                with suppress(OSError, RuntimeError):  # the other end has closed meanwhile
                    writer.write_eof()
                return
            with suppress(OSError):
                await self._send(writer, data)
            spend(len(data))

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        """In one go, or in bursts of the bandwidth."""
        rest = data
        while rest and not writer.is_closing():
            rate = self._behaviour.bytes_per_s
            size = len(rest) if rate is None else max(1, round(rate * TICK_S))
            writer.write(rest[:size])
            rest = rest[size:]
            await writer.drain()
            if rate is not None:
                await asyncio.sleep(TICK_S)

    async def _pass_blackhole(self) -> None:
        while self._behaviour.blackhole:
            await self._changed.wait()

    @staticmethod
    def _spend(connection: _Connection, size: int) -> None:
        if connection.left is not None:
            connection.left -= size
            if connection.left <= 0:
                connection.reset()


async def _read_some(reader: asyncio.StreamReader) -> bytes:
    """What has come; nothing at the end, however the connection ended."""
    try:
        return await reader.read(CHUNK_BYTES)
    except OSError:
        return b""
