"""From requests to conclusions: where P95 crosses the target, where the knee is, how many replicas. Pure.

The knee is the step with the greatest power (Kleinrock 1979): pages answered a second over the mean time of one. Before
it more load is nearly free, and behind it each page more is paid by all others. It needs no threshold.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from loadtest.capacity.samples import Sample, Step

KEEPS_UP = 0.9
"""Share of what is asked in a step that has to be answered as fast."""
MOST_FAILED = 0.05
PLANNED_SHARE = 0.7
"""Of a peak; at more, waiting grows faster than the load (docs/scaling.md)."""
SPARE = 1
"""Replicas more, so that one may break or be replaced."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step met.

    Attributes:
        rate: requests a second that were to be sent.
        offered_per_s: that were.
        requests: how many.
        answered_per_s: pages, over the step; if the service did not keep up, over the time until the last was answered.
        p50_ms, p95_ms, p99_ms, mean_ms: of pages, from the moment they were due; infinite without any.
        failed: requests without a page, by status and code.
        stages_ms: mean of each stage.
        saturated: whether the service did not keep up.
    """

    rate: float
    offered_per_s: float
    requests: int
    answered_per_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    mean_ms: float
    failed: dict[str, int]
    stages_ms: dict[str, float]
    saturated: bool

    @property
    def power(self) -> float:
        """Pages a second over the seconds of one."""
        return 1000 * self.answered_per_s / self.mean_ms


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where P95 crosses the target.

    Attributes:
        where: at the first step already, between two, or nowhere.
        rate: the highest at which the target was met, between steps interpolated; None if there is none.
    """

    where: Literal["first", "between", "nowhere"]
    rate: float | None


@dataclass(frozen=True, slots=True)
class Sizing:
    """How many replicas of what was measured.

    Attributes:
        per_replica: pages a second that one is planned with.
        by_peak: whether that is a share of its peak, because the target is out of reach.
        replicas: the spare one included; None if it answered nothing.
    """

    per_replica: float
    by_peak: bool
    replicas: int | None


def summarize(step: Step, samples: Sequence[Sample]) -> StepResult:
    """The figures of the requests that were due in a step."""
    pages = [sample for sample in samples if sample.good]
    times = sorted(1000 * sample.seconds for sample in pages)
    failed = Counter(f"{one.status} {one.code}".strip() for one in samples if not one.good)
    names = dict.fromkeys(name for sample in pages for name in sample.stages_ms)
    late = is_late(samples) or failed.total() > MOST_FAILED * len(samples)
    return StepResult(
        rate=step.rate,
        offered_per_s=len(samples) / step.length_s,
        requests=len(samples),
        answered_per_s=len(pages) / (answering_s(step, pages) if late else step.length_s),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        p99_ms=percentile(times, 0.99),
        mean_ms=fmean(times) if times else math.inf,
        failed=dict(failed),
        stages_ms={name: fmean(one.stages_ms.get(name, 0.0) for one in pages) for name in names},
        saturated=late,
    )


def is_late(samples: Sequence[Sample]) -> bool:
    """Whether answers come more slowly than requests."""
    return pace([one.ended_at for one in samples]) < KEEPS_UP * pace([one.due_at for one in samples])


def answering_s(step: Step, pages: Sequence[Sample]) -> float:
    """From the beginning of a step to the last of its answers, and no less than the step."""
    return max(step.length_s, max((page.ended_at for page in pages), default=0.0) - step.began_at)


def pace(moments: Sequence[float]) -> float:
    """How many of them come in a second, from the first to the last; how long each took doesn't matter then."""
    span = max(moments, default=0.0) - min(moments, default=0.0)
    return (len(moments) - 1) / span if span > 0 else 0.0


def percentile(ascending: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed (nearest rank)."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)] if ascending else math.inf


def crossing(results: Sequence[StepResult], slo_ms: float) -> Crossing:
    """The first rate at which P95 is above the target; later ones that were lucky don't count."""
    late = next((number for number, one in enumerate(results) if one.p95_ms > slo_ms), None)
    if late is None:
        return Crossing("nowhere", results[-1].offered_per_s)
    if late == 0:
        return Crossing("first", None)
    return Crossing("between", interpolate(results[late - 1], results[late], slo_ms))


def interpolate(below: StepResult, above: StepResult, slo_ms: float) -> float:
    """The rate between two steps at which P95 is the target, on a straight line."""
    share = (slo_ms - below.p95_ms) / (above.p95_ms - below.p95_ms)
    return below.offered_per_s + share * (above.offered_per_s - below.offered_per_s)


def knee(results: Sequence[StepResult]) -> StepResult:
    """The step with the greatest power."""
    return max(results, key=lambda one: one.power)


def peak(results: Sequence[StepResult]) -> float:
    """The most pages a second that were answered in a step."""
    return max(one.answered_per_s for one in results)


def sizing(results: Sequence[StepResult], slo_ms: float, target_per_s: float) -> Sizing:
    """Replicas for a rate at the busiest minute: by the target where it can be met, else by the peak."""
    found = crossing(results, slo_ms)
    per_replica = PLANNED_SHARE * peak(results) if found.rate is None else found.rate
    replicas = math.ceil(target_per_s / per_replica) + SPARE if per_replica else None
    return Sizing(per_replica, found.rate is None, replicas)


def enough(results: Sequence[StepResult], slo_ms: float) -> bool:
    """Whether the rate has been raised far enough: P95 is above the target, and the service does not keep up."""
    return any(one.saturated for one in results) and any(one.p95_ms > slo_ms for one in results)
