"""What a drill is held to: the project's goals, as figures of its course."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.drills.course import (
    Course,
    dead_probes,
    detected_s,
    failed_at_once,
    failing_for_s,
    failures,
    outage_s,
    overtime_s,
    recovered_s,
    refusal_p99_s,
    slowed_for_s,
)

Measure = Callable[[Course], float | None]


@dataclass(frozen=True, slots=True)
class Limit:
    """One goal.

    Attributes:
        goal: its id.
        promise: in words.
        measure: the figure; None if what is measured did not happen.
        at_most: the most that it may be.
        unit: of the figure.
        may_be_absent: whether the goal is met if it did not happen.
        binding: whether missing it fails the drills; a figure that depends on how busy the machine is does not.
    """

    goal: str
    promise: str
    measure: Measure
    at_most: float
    unit: str = "s"
    may_be_absent: bool = False
    binding: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """A limit and what was measured.

    Attributes:
        limit: see there.
        value: the figure.
    """

    limit: Limit
    value: float | None

    @property
    def met(self) -> bool:
        """Whether the goal was met."""
        return self.limit.may_be_absent if self.value is None else self.value <= self.limit.at_most


def judge(limits: tuple[Limit, ...], course: Course) -> list[Judgement]:
    """Each limit with its figure."""
    return [Judgement(limit, limit.measure(course)) for limit in limits]


def noted(name: str) -> Measure:
    """A figure that the fault itself took."""
    return lambda course: course.noted.get(name)


def nothing_failed(goal: str) -> Limit:
    """No request failed."""
    return Limit(goal, "requests that failed", failures, 0, unit="", binding=True)


def back_within(goal: str, seconds: float) -> Limit:
    """All is well so soon after the fault is over."""
    return Limit(goal, "from the end of the fault to pages only", recovered_s, seconds)


def outage_within(goal: str, seconds: float) -> Limit:
    """Clients see failures no longer than this."""
    return Limit(goal, "from the first failure to pages only", outage_s, seconds)


def detected_within(goal: str, seconds: float) -> Limit:
    """`/readyz` says no so soon after the fault."""
    return Limit(goal, "from the fault to /readyz saying no", detected_s, seconds)


def failing_within(goal: str, seconds: float) -> Limit:
    """The last failure comes so soon after the fault."""
    return Limit(goal, "from the fault to the end of the last failure", failing_for_s, seconds)


def slowed_within(goal: str, seconds: float) -> Limit:
    """The last failure, or page that came late, comes so soon after the fault."""
    return Limit(goal, "from the fault to the last request that failed or was late", slowed_for_s, seconds)


def few_at_once(goal: str, share: float) -> Limit:
    """A small share fails while the fault is new."""
    return Limit(goal, "share that failed of the first second", failed_at_once, share, unit="")


def refused_quickly(goal: str, seconds: float) -> Limit:
    """Who comes while the fault is known does not wait."""
    return Limit(goal, "p99 of refusals once it is known", refusal_p99_s, seconds, may_be_absent=True)


IN_TIME = Limit("O9", "past the deadline at worst", overtime_s, 0.05)
"""Every answer comes within the deadline, and 50 ms for the way; asked of every fault."""

ALIVE = Limit("R3", "times that /livez did not say yes", dead_probes, 0, unit="", binding=True)
"""A fault of Triton is no reason to restart the gateway."""

ALWAYS = (IN_TIME, ALIVE)
"""Asked of every fault that leaves the gateways alone."""

HANG = (*ALWAYS, detected_within("O9", 1.5), refused_quickly("O9", 0.02), back_within("O9", 1.0))
"""Triton gives no sign of life, and then goes on."""
