"""Cross-request batching: lines of all requests share recognition calls.

Triton's own batcher merges only consecutive requests of one shape, so with several buckets it hardly merges
anything; here every bucket has a queue. The strategy is work-conserving. While fewer calls than allowed are under
way, whatever waits is sent at once, so an idle service adds no delay. Else rows gather until a call returns, so a
busy one sends full chunks. There are no timers but the callers' deadlines, and nothing to tune but two limits.

What is sent is decided synchronously, in `_send`, whenever rows arrive or a call ends. A row belongs to the `read`
that brought it, its owner. An owner that has its answer, its error or no time left is released: its waiting rows
are dropped, and a call that nobody else waits for is cancelled.
"""

import asyncio
import time
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from gateway import metrics
from gateway.arrays import Crop, LineSteps
from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, Draining, InferenceTimeout
from gateway.inference.backend import Backend
from gateway.inference.batching import RowQueue, bucket_for, chunk_rows, pad_rows, sent_rows

SHUTTING_DOWN = "the service is shutting down"


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is sent at once.

    Attributes:
        max_chunk_pixels: most padded pixels of a chunk (rows x line height x bucket width), which fixes the memory
            that a call needs; 32 rows of 48x320. A single row may exceed it.
        calls_in_flight: recognition calls under way at a time; with two, one is on its way while the other is
            computed.
    """

    max_chunk_pixels: int = 32 * 48 * 320
    calls_in_flight: int = 2


@dataclass(frozen=True, slots=True)
class _Row:
    """One line that waits: its place among its owner's lines, and since when."""

    index: int
    crop: Crop
    queued_at: float


@dataclass(eq=False, slots=True)
class _Owner:
    """One `read` under way."""

    lines: int
    deadline: Deadline
    done: asyncio.Future[None]
    started_at: float = field(default_factory=time.monotonic)
    steps: dict[int, LineSteps] = field(default_factory=dict)
    error: BaseException | None = None

    def take(self, index: int, steps: LineSteps) -> None:
        self.steps[index] = steps
        if len(self.steps) == self.lines:
            self._finish()

    def fail(self, error: BaseException) -> None:
        self.error = self.error or error
        self._finish()

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def result(self) -> list[LineSteps]:
        """The steps of all lines in order; raises what went wrong, InferenceTimeout if nothing did but time."""
        if self.error is not None:
            raise self.error
        unread = self.lines - len(self.steps)
        if unread:
            waited = time.monotonic() - self.started_at
            raise InferenceTimeout(f"{unread} of {self.lines} lines were still unread after {waited:.1f} s")
        return [self.steps[index] for index in range(self.lines)]


OwnedRows: TypeAlias = list[tuple[_Owner, _Row]]


@dataclass(eq=False, slots=True)
class _Call:
    """One recognition call under way, and the owners that still wait for it."""

    rows: OwnedRows
    task: asyncio.Task[list[LineSteps]]
    owners: set[_Owner]


class Batcher:
    """Reads lines through a backend. All methods belong to one event loop."""

    def __init__(self, backend: Backend, limits: BatchLimits) -> None:
        self._backend = backend
        self._limits = limits
        self._queue: RowQueue[_Owner, _Row] = RowQueue()
        self._owners: set[_Owner] = set()
        self._calls: set[_Call] = set()
        self._closed = False

    async def read(self, crops: Sequence[Crop], *, deadline: Deadline) -> list[LineSteps]:
        """The steps of each crop, in the order of `crops`.

        They cover the whole bucket, padding included. A step is equally wide in all buckets, so step `s` lies over
        the same pixels of a crop in whichever bucket it is read.

        Raises:
            InferenceTimeout: not all lines were read before the deadline.
            BackendError: a call failed that carried one of the lines.
            Draining: the batcher is closed.
            ValueError: a crop fits no bucket.
        """
        if self._closed:
            raise Draining(SHUTTING_DOWN)
        if not crops:
            return []
        buckets = [bucket_for(crop, self._backend.contract.recognition) for crop in crops]
        owner = _Owner(len(crops), deadline, asyncio.get_running_loop().create_future())
        self._enqueue(owner, buckets, crops)
        self._send()
        try:
            await asyncio.wait([owner.done], timeout=deadline.remaining())
        finally:
            self._release(owner)
        return owner.result()

    async def close(self) -> None:
        """Fail every `read` under way with Draining, and wait until its calls have ended."""
        self._closed = True
        for owner in tuple(self._owners):
            self._fail(owner, Draining(SHUTTING_DOWN))
        if self._calls:
            await asyncio.wait([call.task for call in self._calls])

    def _enqueue(self, owner: _Owner, buckets: Sequence[int], crops: Sequence[Crop]) -> None:
        self._owners.add(owner)
        for index, (bucket_width, crop) in enumerate(zip(buckets, crops, strict=True)):
            self._queue.put(bucket_width, owner, _Row(index, crop, owner.started_at))

    def _send(self) -> None:
        """Start calls while there are rows that wait and calls that may be made."""
        self._release_expired()
        while len(self._calls) < self._limits.calls_in_flight and (chunk := self._queue.take(self._chunk_rows)):
            self._start(*chunk)
        metrics.ROWS_QUEUED.set(len(self._queue))

    def _chunk_rows(self, bucket_width: int) -> int:
        contract = self._backend.contract.recognition
        return chunk_rows(contract, bucket_width, max_pixels=self._limits.max_chunk_pixels)

    def _start(self, bucket_width: int, rows: OwnedRows) -> None:
        owners = {owner for owner, _ in rows}
        deadline = max((owner.deadline for owner in owners), key=lambda deadline: deadline.at)
        crops = [row.crop for _, row in rows]
        # A context of its own: the call belongs to no single request, and its logs must not name one.
        task = asyncio.create_task(self._recognize(bucket_width, crops, deadline), context=Context())
        call = _Call(rows, task, owners)
        self._calls.add(call)
        task.add_done_callback(partial(self._ended, call))
        self._count(bucket_width, rows)

    async def _recognize(self, bucket_width: int, crops: list[Crop], deadline: Deadline) -> list[LineSteps]:
        rows = pad_rows(crops, self._backend.contract.recognition, bucket_width)
        answer = await self._backend.recognize(rows, timeout_s=deadline.remaining())
        return [answer.line(row) for row in range(len(crops))]

    def _ended(self, call: _Call, task: asyncio.Task[list[LineSteps]]) -> None:
        """Hand out what a call brought, and send what has gathered meanwhile."""
        self._calls.remove(call)
        error = _error_of(task)
        if error is None:
            for (owner, row), steps in zip(call.rows, task.result(), strict=True):
                owner.take(row.index, steps)
        else:
            for owner in call.owners:
                self._fail(owner, error)
        self._send()

    def _fail(self, owner: _Owner, error: BaseException) -> None:
        owner.fail(error)
        self._release(owner)

    def _release(self, owner: _Owner) -> None:
        """Forget an owner: drop its rows that wait, and cancel the calls that only it waited for."""
        self._owners.discard(owner)
        metrics.ROWS_DROPPED.inc(self._queue.discard(owner))
        metrics.ROWS_QUEUED.set(len(self._queue))
        for call in self._calls:
            if owner in call.owners:
                call.owners.remove(owner)
                if not call.owners and call.task.cancel():
                    metrics.CALLS_CANCELLED.inc()

    def _release_expired(self) -> None:
        """Release owners whose time is up but whose timers a busy event loop has not got round to yet."""
        for owner in [owner for owner in self._owners if owner.deadline.expired]:
            self._release(owner)

    def _count(self, bucket_width: int, rows: OwnedRows) -> None:
        contract = self._backend.contract.recognition
        now = time.monotonic()
        padded_width = sent_rows(contract, bucket_width, len(rows)) * bucket_width
        metrics.CHUNKS.labels(str(bucket_width)).inc()
        metrics.CHUNK_ROWS.observe(len(rows))
        metrics.LINE_PIXELS.inc(contract.line_height * sum(row.crop.shape[1] for _, row in rows))
        metrics.PADDED_PIXELS.inc(contract.line_height * padded_width)
        for _, row in rows:
            metrics.QUEUE_SECONDS.observe(now - row.queued_at)


def _error_of(task: asyncio.Task[list[LineSteps]]) -> BaseException | None:
    """What a call failed with. One that was cancelled from outside must not leave its owners waiting either."""
    if task.cancelled():
        return BackendUnavailable("the call to the inference server was cancelled")
    return task.exception()
