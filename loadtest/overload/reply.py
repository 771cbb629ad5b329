"""What came of one request, and figures of many. Pure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OK = 200
NO_ANSWER = 0
REFUSALS = frozenset(("overloaded", "rate_limited"))
"""Codes of problems that tell the client to come again later; other problems are failures."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer as far as it matters here.

    Attributes:
        status: `NO_ANSWER` if the connection broke, could not be made, or the client gave up.
        retry_after: whether it says when to come again.
        closes: whether it says that the connection ends.
        code: of the problem, if it is one.
        surplus: bytes after its end; a request that is answered twice has some.
    """

    status: int = NO_ANSWER
    retry_after: bool = False
    closes: bool = False
    code: str = ""
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One request of an open loop.

    Attributes:
        stream: what it was part of.
        due_at: when it should have been sent, on the monotonic clock.
        sent_at: when it was.
        ended_at: when its answer was complete.
        answer: see there.
    """

    stream: str
    due_at: float
    sent_at: float
    ended_at: float
    answer: Answer

    @property
    def took_s(self) -> float:
        """From the connection to the end of the answer; that the client was late is not the service's fault."""
        return self.ended_at - self.sent_at

    @property
    def late_s(self) -> float:
        """By how much the client itself was late."""
        return self.sent_at - self.due_at

    @property
    def accepted(self) -> bool:
        """Whether a page came back."""
        return self.answer.status == OK

    @property
    def refused(self) -> bool:
        """Whether the client was told to come again later."""
        return self.answer.code in REFUSALS

    @property
    def failed(self) -> bool:
        """Whether it was answered, but neither with a page nor with a refusal: the work was begun, and not finished."""
        return self.answer.status not in (OK, NO_ANSWER) and not self.refused

    def good(self, deadline_s: float) -> bool:
        """Whether a page came back in time."""
        return self.accepted and self.took_s <= deadline_s


def quantile(values: Iterable[float], share: float) -> float | None:
    """The smallest of the values that so many do not exceed (nearest rank); None if there are none."""
    ascending = sorted(values)
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)] if ascending else None


def goodput(replies: Iterable[Reply], begin: float, end: float, deadline_s: float) -> float:
    """Pages per second that were complete in this time, each within its deadline."""
    return sum(begin <= reply.ended_at < end for reply in replies if reply.good(deadline_s)) / (end - begin)


def recovered_s(replies: Sequence[Reply], dropped_at: float, wanted: float, deadline_s: float) -> float | None:
    """Time from the drop of the load until a second begins whose goodput is what is wanted; None if none does."""
    last = max((reply.ended_at for reply in replies), default=dropped_at)
    starts = (dropped_at + WINDOW_STEP_S * number for number in range(int((last - dropped_at) / WINDOW_STEP_S)))
    found = (start for start in starts if goodput(replies, start, start + WINDOW_S, deadline_s) >= wanted)
    return next((start - dropped_at for start in found), None)


WINDOW_S, WINDOW_STEP_S = 1.0, 0.1
