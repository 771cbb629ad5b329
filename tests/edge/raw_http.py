"""A client that sends bytes as it is told, and says in a few words what came back."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass

KEPT_S = 0.3
"""A connection that is open so long after an answer is called kept."""


@dataclass(frozen=True)
class Pause:
    """Time between two pieces of a request."""

    seconds: float


@dataclass(frozen=True)
class Trickle:
    """A piece that is sent again and again until something comes back.

    Attributes:
        piece: of the request.
        pause_s: between two of them.
    """

    piece: bytes
    pause_s: float = 0.1


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        status: 100 for an interim one.
        fields: header fields by lower-case name.
        body: what came of it.
    """

    status: int
    fields: dict
    body: bytes

    @property
    def code(self):
        """The code of the problem document, if it is one."""
        is_problem = self.fields.get("content-type") == "application/problem+json"
        return json.loads(self.body)["code"] if is_problem else ""

    def __str__(self):
        return f"{self.status} {self.code}".strip() if self.status else "a body without a header"


@dataclass(frozen=True)
class Outcome:
    """What came of a connection.

    Attributes:
        answers: in order.
        closed: whether the server ended it, or said that it would.
    """

    answers: list
    closed: bool

    def __str__(self):
        return f"{', '.join(map(str, self.answers)) or 'no answer'}; {'closed' if self.closed else 'kept'}"


class Connection:
    """One connection, whose answers are collected while requests are still being sent.

    Attributes:
        started: whether anything has been sent.
    """

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer
        self._received = bytearray()
        self._something = asyncio.Event()
        self._receiving = asyncio.create_task(self._receive())
        self.started = False

    @classmethod
    async def open(cls, port):
        """Connect to this machine."""
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, *steps):
        """Send bytes, pause, trickle; a server that has closed is no error."""
        with suppress(ConnectionError):
            for step in steps:
                await self._take(step)

    async def outcome(self, patience_s=15.0):
        """What has come back, once the server has closed or been silent for a moment after an answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._something.wait()
            while not self._receiving.done():
                before = len(self._received)
                await asyncio.wait([self._receiving], timeout=KEPT_S)
                if len(self._received) == before:
                    break
        answers = answers_in(bytes(self._received))
        announced = bool(answers) and answers[-1].fields.get("connection") == "close"
        closed = self._receiving.done() or announced
        self.close()
        return Outcome(answers, closed)

    def close(self):
        """Leave."""
        self._receiving.cancel()
        self._writer.close()

    async def _take(self, step):
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Trickle):
            while not self._something.is_set():
                await self._write(step.piece)
                await asyncio.sleep(step.pause_s)
        else:
            await self._write(step)

    async def _write(self, data):
        self.started |= bool(data)
        self._writer.write(data)
        await self._writer.drain()

    async def _receive(self):
        with suppress(ConnectionError):
            while data := await self._reader.read(1 << 20):
                self._received += data
                self._something.set()
        self._something.set()


async def exchange(port, *steps):
    """Open a connection, send the steps and say what came of it."""
    connection = await Connection.open(port)
    await connection.send(*steps)
    return await connection.outcome()


def answers_in(received):
    """The answers in a stream of bytes."""
    answers = []
    if received and not received.startswith(b"HTTP/"):
        return [Answer(0, {}, received)]  # as HTTP/0.9 has it
    while received:
        header, _, received = received.partition(b"\r\n\r\n")
        line, *lines = header.decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body, received = _body(fields, received)
        answers.append(Answer(int(line.split()[1]), fields, body))
    return answers


def _body(fields, rest):
    if fields.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(rest.partition(b"\r\n")[0], 16):
            start = rest.index(b"\r\n") + 2
            body, rest = body + rest[start : start + size], rest[start + size + 2 :]
        return body, rest.partition(b"\r\n\r\n")[2]
    length = int(fields.get("content-length", 0))
    return rest[:length], rest[length:]
