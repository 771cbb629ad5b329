"""One decoder process, seen from the gateway."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

from gateway.decoders.messages import MAX_PACKET_BYTES, READY, Answer, Question, parse_answer
from gateway.decoders.shared_memory import map_shared
from gateway.errors import DecoderFailed

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""What of the environment Python may need; secrets stay here."""

_OWN = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENCV_LOG_LEVEL": "SILENT"}
"""One thread for each process; its addresses are limited, and each thread would take some."""


class NotAsked(DecoderFailed):
    """The process was dead before it took the question, so the question is not to blame."""


class DecoderProcess:
    """Starts at once and is asked one question at a time; what has been asked is answered once it is up."""

    def __init__(self, process: "subprocess.Popen[bytes]", connection: socket.socket) -> None:
        self._process = process
        self._connection = connection
        self._up = False

    @classmethod
    def start(cls, *, memory_bytes: int, timeout_s: int) -> Self:
        """Start one that may have so many bytes of addresses, and take so long over a question."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = (theirs.fileno(), memory_bytes, timeout_s)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "gateway.decoders.child", *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _OWN,
                start_new_session=True,  # Ctrl-C at a terminal is the gateway's alone
            )
        ours.setblocking(False)
        return cls(process, ours)

    async def come_up(self) -> None:
        """Wait until it can be asked.

        Raises:
            NotAsked: it ended before.
        """
        if not self._up:
            with _not_asked():
                packet, _ = await self._receive()
            self._up = packet == READY

    async def ask(self, question: Question, data: int) -> Answer:
        """What it says about the file in shared memory with this descriptor. Whoever gives up must kill it.

        Raises:
            NotAsked: it had died before.
            DecoderFailed: it died over it, or its answer makes no sense.
        """
        await self._hand_over(question, data)
        packet, descriptors = await self._receive()
        try:
            return parse_answer(packet, map_shared(descriptors[0]))
        except (ValueError, IndexError) as error:
            raise DecoderFailed(f"the decoder's answer makes no sense: {error}") from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    async def _hand_over(self, question: Question, data: int) -> None:
        """Returns once it has begun: a process may be sent a question when it has been killed, but is not dead yet."""
        with _not_asked():
            socket.send_fds(self._connection, [question.packet()], [data])
            await self._receive()

    def kill(self) -> None:
        """End it now. It is waited for aside, because taking a large process apart takes its time."""
        self._process.kill()
        self._connection.close()
        threading.Thread(target=self._process.wait, name="burial", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def _receive(self) -> tuple[bytes, list[int]]:
        loop = asyncio.get_running_loop()
        readable = loop.create_future()
        loop.add_reader(self._connection, _resolve, readable)
        try:
            await readable
        finally:
            loop.remove_reader(self._connection)
        packet, descriptors, _, _ = socket.recv_fds(self._connection, MAX_PACKET_BYTES, 1)
        if not packet:
            raise self._dead()
        return packet, descriptors

    def _dead(self) -> DecoderFailed:
        status: int | None = None
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(1.0)
        return DecoderFailed(f"the decoder ended over this file ({_describe(status)})")


@contextmanager
def _not_asked() -> Iterator[None]:
    """What goes wrong meanwhile is not the question's doing."""
    try:
        yield
    except (OSError, DecoderFailed) as error:
        raise NotAsked("the decoder had ended before it was asked") from error


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _describe(status: int | None) -> str:
    if status is None:
        return "it hung up"
    return signal.Signals(-status).name if status < 0 else f"exit code {status}"
