"""Cross-request batching: lines of all requests share recognition calls.

Triton's own batcher merges only consecutive requests of one shape, so with several buckets it hardly merges
anything; here every bucket has a queue. The strategy is work-conserving. While fewer calls than allowed are under
way, whatever waits is sent at once, so an idle service adds no delay. Else rows gather until a call returns, so a
busy one sends full chunks. There are no timers but the callers' deadlines, and nothing to tune but two limits.

What is sent is decided synchronously, in `_send`, whenever rows arrive or a call ends. A row belongs to the `read`
that brought it, its owner. An owner that has its answer, its error or no time left is released: its waiting rows
are dropped, and a call that nobody else waits for is cancelled.

A call that runs out of memory is cut into smaller ones, down to a single row, and its bucket's next chunks are as
small (`gateway.inference.row_limits`). Nothing else is tried twice: see docs/decisions/0008-what-is-tried-again.md.
"""

import asyncio
import time
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from typing import TypeAlias

from gateway import metrics
from gateway.arrays import Crop, LineSteps
from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, Draining, InferenceTimeout, OcrError, OutOfMemory
from gateway.inference.backend import Backend
from gateway.inference.batching import OwnedRows, RowQueue, bucket_for, pad_rows, row_steps, sent_rows, step_below
from gateway.inference.owners import Answer, Owner, WaitingRow, own_copy
from gateway.inference.row_limits import Attempt, RowLimits
from gateway.tracing import Span, outgoing

SHUTTING_DOWN = "the service is shutting down"
EXCHANGED = "the models were exchanged for others while the lines waited"


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is sent at once.

    Attributes:
        max_chunk_pixels: most padded pixels of a chunk (rows x line height x bucket width), which fixes the memory
            that a call needs; 32 rows of 48x320. A single row may exceed it.
        calls_in_flight: recognition calls under way at a time for each server; with two, one is on its way while the
            other is computed.
    """

    max_chunk_pixels: int = 32 * 48 * 320
    calls_in_flight: int = 2


Rows: TypeAlias = OwnedRows[Owner, WaitingRow]


@dataclass(eq=False, slots=True)
class _Call:
    """One recognition call under way.

    Attributes:
        rows: its lines, in the order of its rows.
        attempt: what is learnt from.
        smaller: how many rows to send at a time should these be too many; None if there can't be fewer.
        task: the call.
        owners: those that still wait for it.
        spans: one in the trace of each request that is traced.
    """

    rows: Rows
    attempt: Attempt
    smaller: int | None
    task: asyncio.Task[list[LineSteps]]
    owners: set[Owner]
    spans: tuple[Span, ...] = ()


class Batcher:
    """Reads lines through a backend. All methods belong to one event loop."""

    def __init__(self, backend: Backend, limits: BatchLimits, row_limits: RowLimits | None = None) -> None:
        self._backend = backend
        self._limits = limits
        self._row_limits = row_limits or RowLimits()
        self._queue: RowQueue[Owner, WaitingRow] = RowQueue()
        self._owners: set[Owner] = set()
        self._calls: set[_Call] = set()
        self._shown = 0
        self._closed = False

    async def read(
        self,
        crops: Sequence[Crop],
        *,
        deadline: Deadline,
        partial: bool = False,
        alternatives: bool = False,
        sent: metrics.Sent | None = None,
    ) -> list[Answer]:
        """The steps of each crop, in the order of `crops`.

        They cover the whole bucket, padding included. A step is equally wide in all buckets, so step `s` lies over
        the same pixels of a crop in whichever bucket it is read.

        Args:
            crops: lines of the models' line height, none wider than the last bucket.
            deadline: no call is made for these lines when it has passed.
            partial: give the lines that could be read if others could not; those have their error in place of steps.
            alternatives: ask for those of each step. A chunk that carries such a line asks for those of all its lines,
                so that requests share chunks as ever.
            sent: counts the calls that carry these lines.

        Raises:
            InferenceTimeout: not all lines were read before the deadline.
            OutOfMemory: a line did not even fit into memory alone; not with `partial`.
            InferenceFailed: a call failed that carried one of the lines; not with `partial`.
            BackendError, Overloaded: nothing can be read at the moment.
            Draining: the batcher is closed.
            ValueError: a crop fits no bucket.
        """
        if self._closed:
            raise Draining(SHUTTING_DOWN)
        if not crops:
            return []
        buckets = [bucket_for(crop, self._backend.contract.recognition) for crop in crops]
        done = asyncio.get_running_loop().create_future()
        owner = Owner(len(crops), deadline, partial, alternatives, done, sent or metrics.Sent())
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

    def _enqueue(self, owner: Owner, buckets: Sequence[int], crops: Sequence[Crop]) -> None:
        self._owners.add(owner)
        for index, (bucket_width, crop) in enumerate(zip(buckets, crops, strict=True)):
            self._queue.put(bucket_width, owner, WaitingRow(index, crop, owner.started_at))

    def _send(self) -> None:
        """Start calls while there are rows that wait and calls that may be made."""
        self._release_expired()
        most = self._limits.calls_in_flight * max(1, self._backend.servers)
        while len(self._calls) < most and (chunk := self._queue.take(self._most_rows)):
            self._start(*chunk)
        self._show_queue()

    def _most_rows(self, bucket_width: int) -> int:
        steps = self._steps(bucket_width)
        return self._row_limits.allowed(bucket_width, steps) if steps else 1

    def _steps(self, bucket_width: int) -> tuple[int, ...]:
        contract = self._backend.contract.recognition
        return row_steps(contract, bucket_width, max_pixels=self._limits.max_chunk_pixels)

    def _start(self, bucket_width: int, rows: Rows) -> None:
        owners = {owner for owner, _ in rows}
        steps = self._steps(bucket_width)
        if not steps:
            for owner in owners:
                self._fail(owner, BackendUnavailable(EXCHANGED))
            return
        deadline = max((owner.deadline for owner in owners), key=lambda deadline: deadline.at)
        crops = [row.crop for _, row in rows]
        spans = _spans([owner for owner, _ in rows], bucket_width)
        alternatives = any(owner.alternatives for owner in owners)
        reading = self._recognize(bucket_width, crops, deadline, alternatives=alternatives)
        task = asyncio.create_task(reading, context=_context(spans))
        sent = sent_rows(self._backend.contract.recognition, bucket_width, len(rows))
        attempt = self._row_limits.begin(bucket_width, sent)
        call = _Call(rows, attempt, step_below(steps, sent), task, owners, spans)
        for owner in owners:
            owner.sent.chunks += 1
        self._calls.add(call)
        task.add_done_callback(lambda task: self._ended(call, task))
        self._count(call)

    async def _recognize(
        self, bucket_width: int, crops: list[Crop], deadline: Deadline, *, alternatives: bool
    ) -> list[LineSteps]:
        if deadline.expired:
            raise InferenceTimeout("no time was left to have the lines read")
        rows = pad_rows(crops, self._backend.contract.recognition, bucket_width)
        answer = await self._backend.recognize(rows, timeout_s=deadline.remaining(), alternatives=alternatives)
        return [answer.line(row) for row in range(len(crops))]

    def _ended(self, call: _Call, task: asyncio.Task[list[LineSteps]]) -> None:
        """Hand out what a call brought, and send what has gathered meanwhile."""
        self._calls.remove(call)
        error = _error_of(task)
        for span in call.spans:
            span.end("" if error is None else getattr(error, "code", OcrError.code))
        if error is None:
            self._hand_out(call, task.result())
        elif isinstance(error, OutOfMemory):
            self._cut_down(call, error)
        else:
            self._lose(call, error)
        self._send()

    def _hand_out(self, call: _Call, answers: Sequence[LineSteps]) -> None:
        self._row_limits.fitted(call.attempt)
        self._show_limit(call.attempt.bucket_width)
        for (owner, row), answer in zip(call.rows, answers, strict=True):
            owner.take(row.index, answer)

    def _cut_down(self, call: _Call, error: OutOfMemory) -> None:
        """Have the lines of a call that ran out of memory sent again in smaller calls, if there are smaller ones."""
        bucket_width, now = call.attempt.bucket_width, time.monotonic()
        self._row_limits.failed(call.attempt, smaller=call.smaller or call.attempt.rows)
        self._show_limit(bucket_width)
        if call.smaller is None:
            self._lose(call, error)
            return
        metrics.OOM_SPLITS.labels(str(bucket_width)).inc()
        rows = [(owner, replace(row, queued_at=now)) for owner, row in call.rows if owner in call.owners]
        self._queue.put_back(bucket_width, rows, most=call.smaller)

    def _lose(self, call: _Call, error: BaseException) -> None:
        """Give up the lines of a call, and with them the owners that can't do without."""
        lost: dict[Owner, OcrError] = {}
        for owner in call.owners:
            its_error = own_copy(error)
            if owner.bears(its_error):
                lost[owner] = its_error
            else:
                self._fail(owner, its_error)
        for owner, row in call.rows:
            if owner in lost:
                owner.take(row.index, lost[owner])

    def _fail(self, owner: Owner, error: BaseException) -> None:
        owner.fail(error)
        self._release(owner)

    def _release(self, owner: Owner) -> None:
        """Forget an owner: drop its rows that wait, and cancel the calls that only it waited for."""
        self._owners.discard(owner)
        metrics.ROWS_DROPPED.inc(self._queue.discard(owner))
        self._show_queue()
        for call in self._calls:
            if owner in call.owners:
                call.owners.remove(owner)
                if not call.owners and call.task.cancel():
                    metrics.CALLS_CANCELLED.inc()

    def _release_expired(self) -> None:
        """Release owners whose time is up but whose timers a busy event loop has not got round to yet."""
        for owner in [owner for owner in self._owners if owner.deadline.expired]:
            self._release(owner)

    def _count(self, call: _Call) -> None:
        contract = self._backend.contract.recognition
        attempt, now = call.attempt, time.monotonic()
        metrics.CHUNKS.labels(str(attempt.bucket_width)).inc()
        metrics.CHUNK_ROWS.observe(len(call.rows))
        metrics.LINE_PIXELS.inc(contract.line_height * sum(row.crop.shape[1] for _, row in call.rows))
        metrics.PADDED_PIXELS.inc(contract.line_height * attempt.rows * attempt.bucket_width)
        for _, row in call.rows:
            metrics.QUEUE_SECONDS.observe(now - row.queued_at)

    def _show_queue(self) -> None:
        """By how many it has grown: there may be another batcher, of a candidate."""
        metrics.ROWS_QUEUED.inc(len(self._queue) - self._shown)
        self._shown = len(self._queue)

    def _show_limit(self, bucket_width: int) -> None:
        learnt = self._row_limits.learnt(bucket_width)
        if learnt is not None:
            metrics.ROW_LIMIT.labels(str(bucket_width)).set(learnt)


def _spans(owners: Sequence[Owner], bucket_width: int) -> tuple[Span, ...]:
    """A span for a call in the trace of each request that is traced; given are the owners of its rows."""
    traces = {id(owner.sent): owner.sent.trace for owner in owners}
    attributes = {"ocr.bucket": bucket_width, "ocr.rows": len(owners)}
    return tuple(trace.start("chunk", attributes) for trace in traces.values() if trace)


def _context(spans: Sequence[Span]) -> Context:
    """A context of its own: the call belongs to no single request, and its logs must not name one.

    Triton's spans can have one parent; of several requests that share the call, the first has them.
    """
    context = Context()
    if spans:
        context.run(outgoing.set, spans[0].traceparent)
    return context


def _error_of(task: asyncio.Task[list[LineSteps]]) -> BaseException | None:
    """What a call failed with. One that was cancelled from outside must not leave its owners waiting either."""
    if task.cancelled():
        return BackendUnavailable("the call to the inference server was cancelled")
    return task.exception()
