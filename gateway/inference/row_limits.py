"""How many rows of a bucket fit into the inference server's memory, learnt from calls that ran out of it.

A call that ran out of memory lowers its bucket's limit to the next smaller step. Memory comes back when somebody else
lets go of it, so after a quiet minute one call may try the next larger step. If that fits, its size is the new limit;
if it runs out of memory, the limit stands and the next trial is a minute away. So while nothing changes there is at
most one such failure a minute; and when the memory is back, so are full chunks, in as many minutes as there are steps.

The steps are what the models take: halves of a full chunk, or the row counts that have a model.
No I/O; the clock is given.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TRIAL_INTERVAL_S = 60.0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that is made.

    Attributes:
        bucket_width: of its rows.
        rows: as sent, with those added to reach a fixed count.
        started_at: by the clock of the limits.
    """

    bucket_width: int
    rows: int
    started_at: float


@dataclass(slots=True)
class _Limit:
    """The most rows of a bucket, and the time of the last failure or trial that says so."""

    rows: int
    since: float


class RowLimits:
    """The limits of all buckets; one that never ran out of memory has none."""

    def __init__(
        self, *, trial_interval_s: float = TRIAL_INTERVAL_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trial_interval_s = trial_interval_s
        self._clock = clock
        self._limits: dict[int, _Limit] = {}

    def learnt(self, bucket_width: int) -> int | None:
        """The most rows of this bucket; None if they never ran out of memory."""
        limit = self._limits.get(bucket_width)
        return limit.rows if limit else None

    def allowed(self, bucket_width: int, steps: Sequence[int]) -> int:
        """The most rows that the next call may carry: one of `steps`, which ascend up to a full chunk."""
        limit = self._limits.get(bucket_width)
        if limit is None:
            return steps[-1]
        known = max((step for step in steps if step <= limit.rows), default=steps[0])
        if self._clock() - limit.since < self._trial_interval_s:
            return known
        return min((step for step in steps if step > known), default=known)

    def begin(self, bucket_width: int, rows: int) -> Attempt:
        """Note that a call is made. One with more rows than the limit is a trial; there is no other for a while."""
        now = self._clock()
        limit = self._limits.get(bucket_width)
        if limit is not None and rows > limit.rows:
            limit.since = now
        return Attempt(bucket_width, rows, now)

    def fitted(self, attempt: Attempt) -> None:
        """Learn from a call that was answered.

        One that was under way when the limit was set proves nothing: it may have been what took the memory.
        """
        limit = self._limits.get(attempt.bucket_width)
        if limit is not None and attempt.rows > limit.rows and attempt.started_at >= limit.since:
            limit.rows = attempt.rows

    def failed(self, attempt: Attempt, *, smaller: int) -> None:
        """Learn from a call that ran out of memory; `smaller` is the step below its rows, or the lowest there is."""
        limit = self._limits.setdefault(attempt.bucket_width, _Limit(attempt.rows, self._clock()))
        if attempt.rows <= limit.rows:
            limit.rows = smaller
        limit.since = self._clock()
