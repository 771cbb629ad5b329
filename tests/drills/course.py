"""The course of one drill: what was seen, and figures drawn from it. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.drills.ledger import Ending, Exchange
from tests.drills.watch import Sight


@dataclass(frozen=True, slots=True)
class Course:
    """Times are on the monotonic clock, in seconds.

    Attributes:
        started_at: when the load began.
        injected_at: when the fault began.
        healed_at: when it was over, and whatever was restarted was ready.
        deadline_s: of each request.
        exchanges: every request.
        ready, alive: what the probes answered.
        noted: figures that only the fault itself could take, by name.
    """

    started_at: float
    injected_at: float
    healed_at: float
    deadline_s: float
    exchanges: Sequence[Exchange]
    ready: Sequence[Sight] = ()
    alive: Sequence[Sight] = ()
    noted: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> list[Exchange]:
        """Requests whose client waited for a page and got none, by the time they were sent."""
        return sorted((exchange for exchange in self.exchanges if exchange.failed), key=lambda one: one.sent_at)

    @property
    def outcomes(self) -> Counter[str]:
        """How often each outcome was met."""
        return Counter(exchange.outcome for exchange in self.exchanges)


def failures(course: Course) -> float:
    """How many requests failed."""
    return len(course.failed)


def overtime_s(course: Course) -> float:
    """By how much the slowest request went past its deadline; negative if none did."""
    waited = [one.ended_at - one.sent_at for one in course.exchanges if one.ending is not Ending.LEFT]
    return max(waited, default=0.0) - course.deadline_s


def detected_s(course: Course) -> float | None:
    """Time until a gateway first called itself not ready; None if none did."""
    seen = [sight.at for sight in course.ready if sight.at >= course.injected_at and not sight.yes]
    return min(seen) - course.injected_at if seen else None


def refusal_p99_s(course: Course) -> float | None:
    """How long a refusal took, once the fault was detected and while it lasted; None if there was none."""
    detected = detected_s(course)
    if detected is None:
        return None
    begin = course.injected_at + detected
    took = sorted(one.ended_at - one.sent_at for one in course.failed if begin <= one.sent_at <= course.healed_at)
    return quantile(took, 0.99) if took else None


def recovered_s(course: Course) -> float | None:
    """Time from the end of the fault until every request succeeded; None if the last one still failed."""
    first = first_of_steady(course)
    return None if first is None else max(0.0, first.sent_at - course.healed_at)


def outage_s(course: Course) -> float | None:
    """Time from the first failure to the first of the pages that came without a further failure: what clients see."""
    if not course.failed:
        return 0.0
    first = first_of_steady(course)
    return None if first is None else max(0.0, first.ended_at - course.failed[0].sent_at)


def failing_for_s(course: Course) -> float:
    """Time from the fault to the end of the last request that failed."""
    return max((one.ended_at - course.injected_at for one in course.failed), default=0.0)


def slowed_for_s(course: Course) -> float:
    """Time from the fault to the end of the last request that failed or took longer than its deadline."""
    met = [one for one in course.exchanges if one.failed or one.ended_at - one.sent_at > course.deadline_s]
    return max((one.ended_at - course.injected_at for one in met), default=0.0)


def failed_at_once(course: Course) -> float:
    """Share of the requests sent in the first second of the fault that failed."""
    met = [one for one in course.exchanges if 0.0 <= one.sent_at - course.injected_at <= 1.0]
    return sum(one.failed for one in met) / len(met) if met else 0.0


def dead_probes(course: Course) -> float:
    """How often a gateway did not call itself alive."""
    return sum(not sight.yes for sight in course.alive)


def first_of_steady(course: Course) -> Exchange | None:
    """The first request after the last one that failed, by the time they were sent."""
    last_failed_at = max((one.sent_at for one in course.failed), default=-math.inf)
    later = [one for one in course.exchanges if one.ok and one.sent_at > last_failed_at]
    return min(later, key=lambda one: one.sent_at, default=None)


def quantile(ascending: Sequence[float], share: float) -> float:
    """The smallest value that so many do not exceed (nearest rank)."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]
