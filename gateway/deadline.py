"""One deadline per request: a point in time that every stage and every call measures itself against."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time on the monotonic clock.

    Attributes:
        at: seconds on the monotonic clock.
        timeout_s: the length it was made from, for messages.
        from_client: whether the client asked for it (and it is no longer than the server's own).
    """

    at: float
    timeout_s: float
    from_client: bool = False

    @classmethod
    def after(cls, timeout_s: float, *, from_client: bool = False) -> Self:
        """The deadline `timeout_s` seconds from now."""
        return cls(at=time.monotonic() + timeout_s, timeout_s=timeout_s, from_client=from_client)

    def remaining(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at - time.monotonic())

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() == 0.0


class RenewedDeadline:
    """Deadlines of a stream of pages: each has as long as the first, from its turn, and all together have an end."""

    def __init__(self, first: Deadline, *, longest_s: float, stopping: Callable[[], bool]) -> None:
        """Prepare; nothing is renewed yet.

        Args:
            first: the request's own.
            longest_s: after which nothing is renewed any more, from now.
            stopping: whether nothing is to be renewed because the service is about to end.
        """
        self.latest = first
        self._ends_at = time.monotonic() + longest_s
        self._stopping = stopping

    def renew(self) -> Deadline:
        """The deadline of whatever begins now."""
        at = min(time.monotonic() + self.latest.timeout_s, self._ends_at)
        if at > self.latest.at and not self._stopping():
            self.latest = replace(self.latest, at=at)
        return self.latest
