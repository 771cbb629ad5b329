"""The least HTTP/1.1 client that posts images: it keeps its connection and takes little of the processor."""

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Self

MAX_HEADER_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: of HTTP.
        headers: by name in lower case.
        body: the content.
    """

    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """One connection to a server, opened when it is needed; for one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> Answer:
        """As `post`, without a body."""
        return await self._exchange(f"GET {path} HTTP/1.1\r\nHost: {self._address[0]}\r\n\r\n".encode())

    async def post(self, path: str, body: bytes) -> Answer:
        """Send one request and read its answer.

        Raises:
            OSError, EOFError: the connection could not be made, or broke.
        """
        head = f"POST {path} HTTP/1.1\r\nHost: {self._address[0]}\r\nContent-Length: {len(body)}\r\n\r\n"
        return await self._exchange(head.encode() + body)

    async def _exchange(self, message: bytes) -> Answer:
        try:
            reader, writer = await self._open()
            writer.write(message)
            await writer.drain()
            answer = await read_answer(reader)
        except BaseException:
            self.close()
            raise
        if answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*self._address, limit=MAX_HEADER_BYTES)
        return self._reader, self._writer

    def close(self) -> None:
        """Disconnect; the next request connects anew."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """The next answer, which has to declare its length; EOFError if the stream ends before."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Answer(int(status_line.split(" ", 2)[1]), headers, body)
