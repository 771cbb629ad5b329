"""The fault proxy between a client and a server that sends everything back."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

import pytest

from tests.drills.proxy import LOOPBACK, WIRE, Behaviour, FaultProxy

SOON_S = 10.0


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with closing(writer), suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def proxied() -> AsyncIterator[FaultProxy]:
    server = await asyncio.start_server(echo, LOOPBACK, 0)
    async with server, FaultProxy(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy


class Client:
    """One connection through the proxy; `async with Client.connected(proxy) as client:`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def connected(cls, proxy: FaultProxy) -> AsyncIterator["Client"]:
        reader, writer = await asyncio.open_connection(LOOPBACK, proxy.port)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def ended(self) -> bool:
        """Whether the connection ends, in either way, without another byte."""
        async with asyncio.timeout(SOON_S):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True

    async def ask(self, data: bytes) -> bytes:
        self.writer.write(data)
        return await self.answer(len(data))

    async def answer(self, size: int) -> bytes:
        async with asyncio.timeout(SOON_S):
            return await self.reader.readexactly(size)


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with proxied() as proxy:
        yield proxy


@pytest.fixture
async def client(proxy: FaultProxy) -> AsyncIterator[Client]:
    async with Client.connected(proxy) as client:
        yield client


@pytest.mark.parametrize("size", [1, 100, 1_000_000])
async def test_a_wire_carries_everything(client: Client, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert await client.ask(data) == data


async def test_the_end_of_one_direction_is_passed_on(client: Client) -> None:
    client.writer.write(b"last")
    client.writer.write_eof()
    async with asyncio.timeout(SOON_S):
        assert await client.reader.read() == b"last"


async def test_latency_delays_every_chunk_by_as_much(proxy: FaultProxy, client: Client) -> None:
    proxy.behave(Behaviour(latency_s=0.5))
    started = time.monotonic()
    for number in range(20):
        client.writer.write(bytes([number]))
        await asyncio.sleep(0.02)
    assert await client.answer(20) == bytes(range(20))
    took_s = time.monotonic() - started
    assert 1.0 <= took_s < 5.0, "there and back, and not one chunk after the other"


async def test_bandwidth_is_that_of_each_direction(proxy: FaultProxy, client: Client) -> None:
    proxy.behave(Behaviour(bytes_per_s=10_000))
    started = time.monotonic()
    assert len(await client.ask(bytes(5_000))) == 5_000
    assert time.monotonic() - started >= 0.45, "ten bursts, the first of them at once"


async def test_a_black_hole_takes_connections_and_answers_nothing(proxy: FaultProxy, client: Client) -> None:
    await client.ask(b"before")
    proxy.behave(Behaviour(blackhole=True))
    async with Client.connected(proxy) as new:
        for each in (client, new):
            each.writer.write(b"into it")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await each.reader.read(1)


async def test_what_fell_into_the_black_hole_arrives_after_it(proxy: FaultProxy, client: Client) -> None:
    proxy.behave(Behaviour(blackhole=True))
    client.writer.write(b"late")
    await asyncio.sleep(0.05)
    proxy.behave(WIRE)
    assert await client.answer(4) == b"late"


async def test_a_connection_is_reset_after_so_many_bytes_of_answers(proxy: FaultProxy, client: Client) -> None:
    assert await client.ask(bytes(200)) == bytes(200)
    proxy.behave(Behaviour(reset_after=100))
    assert await client.ask(bytes(60)) == bytes(60)
    client.writer.write(bytes(60))
    await asyncio.sleep(0.1)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await client.ask(bytes(60))


async def test_a_new_connection_has_its_own_bytes_before_the_reset(proxy: FaultProxy) -> None:
    proxy.behave(Behaviour(reset_after=100))
    for _ in range(3):
        async with Client.connected(proxy) as client:
            assert await client.ask(bytes(60)) == bytes(60)


async def test_a_server_that_is_not_there_ends_the_connection() -> None:
    server = await asyncio.start_server(echo, LOOPBACK, 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with FaultProxy(port) as proxy, Client.connected(proxy) as client:
        assert await client.ended()


async def test_leaving_the_proxy_ends_what_sits_in_its_black_hole() -> None:
    async with proxied() as proxy, Client.connected(proxy) as client:
        proxy.behave(Behaviour(blackhole=True))
        client.writer.write(b"stuck")
        await asyncio.sleep(0.05)
        await proxy.__aexit__(None, None, None)
        assert await client.ended()
