"""One deadline per request: a point in time that every stage and every call measures itself against."""

import time
from dataclasses import dataclass
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
