"""Decoder processes for all requests: as many as there is work for, and one that waits, already up."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from gateway import metrics
from gateway.concurrency import Slots, too_late
from gateway.deadline import Deadline
from gateway.decoders.messages import Answer, Question
from gateway.decoders.process import DecoderProcess, NotAsked
from gateway.errors import DecoderFailed, ImageError, OcrError
from gateway.ocr.decoding.picture import Decoded, FileInfo

_REASONS: Mapping[type[BaseException], str] = {TimeoutError: "too_slow", asyncio.CancelledError: "cancelled"}
_START_S = 10
"""The longest that one may take to come up: 0.2 s on an idle core."""

_LATER_S = 2
"""How much later a process ends itself than the gateway would: only if that is gone."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What decoding may cost.

    Attributes:
        processes: at once.
        memory_bytes: of addresses, of each.
        timeout_s: that each may take over a page.
    """

    processes: int
    memory_bytes: int
    timeout_s: int


class DecoderPool:
    """Asks processes, and replaces those that die or hang. One for the whole service."""

    def __init__(self, limits: ProcessLimits) -> None:
        self._limits = limits
        self._slots = Slots(lambda: limits.processes)
        self._idle: list[DecoderProcess] = []
        self._working: set[DecoderProcess] = set()
        self._closed = False

    @property
    def most(self) -> int:
        """How many processes may work at once."""
        return self._limits.processes

    @property
    def busy(self) -> int:
        """How many work."""
        return self._slots.taken

    def warm_up(self) -> None:
        """See to it that a process is up, or on its way, for whoever comes next; never more than may be."""
        if not self._idle and not self._closed and len(self._working) < self._limits.processes:
            self._idle.append(self._start())

    async def ask(self, question: Question, data: int, *, deadline: Deadline) -> FileInfo | Decoded:
        """What a process says about the file with this descriptor.

        Raises:
            ImageError: the file can't be decoded; `DecoderFailed` if a process died over it, or took too long.
            DeadlineExceeded, Overloaded: the request's time was over first.
        """
        await self._wait_for_slot(deadline)
        try:
            answer = await self._ask_somebody(question, data, deadline)
        finally:
            self._slots.release()
        if isinstance(answer, ImageError):
            raise answer
        return answer

    def close(self) -> None:
        """End the processes that wait; those that work end with the gateway's process."""
        self._closed = True
        while self._idle:
            self._idle.pop().kill()

    async def _wait_for_slot(self, deadline: Deadline) -> None:
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self._slots.acquire()
        except TimeoutError as error:
            raise too_late(deadline) from error

    async def _ask_somebody(self, question: Question, data: int, deadline: Deadline) -> Answer:
        """Ask one, and if it turns out to have been dead, another."""
        try:
            return await self._ask(question, data, deadline)
        except NotAsked:
            return await self._ask(question, data, deadline)

    async def _ask(self, question: Question, data: int, deadline: Deadline) -> Answer:
        process = self._take()
        try:
            async with asyncio.timeout(min(deadline.remaining(), _START_S)):
                await process.come_up()
            async with asyncio.timeout(min(deadline.remaining(), self._limits.timeout_s)):
                answer = await process.ask(question, data)
        except BaseException as error:
            self._lose(process, _REASONS.get(type(error), "died"))
            if isinstance(error, TimeoutError):
                raise self._too_slow(deadline) from error
            raise
        self._working.remove(process)
        self._idle.append(process)
        return answer

    def _take(self) -> DecoderProcess:
        """A process that waits, if there is one and it has not been killed meanwhile. Another takes its place."""
        dead = [process for process in self._idle if not process.alive]
        self._idle = [process for process in self._idle if process.alive]
        for process in dead:
            self._lose(process, "died")
        process = self._idle.pop() if self._idle else self._start()
        self._working.add(process)
        self.warm_up()
        return process

    def _lose(self, process: DecoderProcess, reason: str) -> None:
        """End a process that is of no use any more, and let another one come up for whoever comes next."""
        metrics.DECODERS_LOST.labels(reason).inc()
        self._working.discard(process)
        process.kill()
        self.warm_up()

    def _start(self) -> DecoderProcess:
        return DecoderProcess.start(memory_bytes=self._limits.memory_bytes, timeout_s=self._limits.timeout_s + _LATER_S)

    def _too_slow(self, deadline: Deadline) -> OcrError:
        if deadline.expired:
            return too_late(deadline)
        return DecoderFailed(f"the decoder was stopped: the page took it longer than {self._limits.timeout_s} s")
