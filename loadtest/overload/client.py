"""The client: HTTP/1.1 over a connection for each request, by hand, so that it costs the machine as little as possible.

Every request comes from one of many addresses of the loopback network, as those of many people do: nginx has a limit
for each address.
"""

import asyncio
import json
from collections.abc import Iterator
from itertools import cycle

from loadtest.overload.reply import Answer

PATIENCE_S = 8.0
"""Whoever has no answer by then will have none; later than every deadline."""
SOURCES = tuple(f"127.0.1.{number}" for number in range(1, 251))
"""Where requests come from; Linux has the whole network 127/8 on its loopback interface."""


class Client:
    """Asks one address.

    Args:
        host, port: where.
        path: of the requests, with their options.
    """

    def __init__(self, host: str, port: int, path: str = "/v1/ocr") -> None:
        self._address = host, port
        self._path = path
        self._sources: Iterator[str] = cycle(SOURCES)

    def request(self, body: bytes, **fields: str) -> bytes:
        """A request with this image, ready to be sent any number of times."""
        lines = [f"POST {self._path} HTTP/1.1", f"Host: {self._address[0]}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body

    async def ask(self, request: bytes) -> Answer:
        """Send it, and what came back."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await loop.create_connection(
                    lambda: _Connection(request, answered), *self._address, local_addr=(next(self._sources), 0)
                )
                return await answered
        except (TimeoutError, OSError):
            return Answer()


class _Connection(asyncio.Protocol):
    """Sends one request, reads until its answer is complete, and cuts the connection."""

    def __init__(self, request: bytes, answered: asyncio.Future[Answer]) -> None:
        self._request = request
        self._answered = answered
        self._received = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP has no other
        self._answered.add_done_callback(lambda _: transport.abort())
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if answer := parse(bytes(self._received)):
            self._answer(answer)

    def connection_lost(self, _: Exception | None) -> None:
        self._answer(Answer())

    def _answer(self, answer: Answer) -> None:
        if not self._answered.done():
            self._answered.set_result(answer)


def parse(received: bytes) -> Answer | None:
    """The answer at the beginning of what was received; None if it is not complete yet."""
    head, separator, rest = received.partition(b"\r\n\r\n")
    if not separator:
        return None
    status_line, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(fields.get("content-length", "0"))
    if len(rest) < length:
        return None
    is_problem = fields.get("content-type") == "application/problem+json"
    return Answer(
        status=int(status_line.split()[1]),
        code=json.loads(rest[:length])["code"] if is_problem else "",
        retry_after="retry-after" in fields,
        closes=fields.get("connection", "").lower() == "close",
        surplus=len(rest) - length,
    )
