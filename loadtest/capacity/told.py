"""Results of steps in words, for whoever waits at a terminal and for the report. Pure."""

import math
from collections.abc import Sequence

from loadtest.capacity.steps import Crossing, StepResult, crossing, knee, peak


def in_short(result: StepResult) -> str:
    """A line for a step."""
    failed = f", {sum(result.failed.values())} without a page" if result.failed else ""
    pace = "" if not result.saturated else "; does not keep up"
    return (
        f"{per_s(result.offered_per_s)} asked, {per_s(result.answered_per_s)} answered, "
        f"P50 {ms(result.p50_ms)}, P95 {ms(result.p95_ms)} ({result.requests} requests{failed}){pace}"
    )


def conclusion(results: Sequence[StepResult], slo_ms: float) -> str:
    """Crossing, knee and peak in a sentence each."""
    best = knee(results)
    most = f"The most that was answered is {per_s(peak(results))}"
    unknown = "" if any(one.saturated for one in results) else "; it kept up, so that the peak may be higher"
    return (
        f"{crossed(crossing(results, slo_ms), results, slo_ms)} The knee is at {per_s(best.offered_per_s)} "
        f"(P95 {ms(best.p95_ms)}). {most}{unknown}."
    )


def crossed(found: Crossing, results: Sequence[StepResult], slo_ms: float) -> str:
    """Where P95 crosses the target."""
    if found.where == "first":
        first = results[0]
        return (
            f"P95 is above {slo_ms:g} ms at the first step already, which had {per_s(first.offered_per_s)}: "
            f"it was {ms(first.p95_ms)} there, and P50 {ms(first.p50_ms)}."
        )
    if found.where == "nowhere":
        return f"P95 stays below {slo_ms:g} ms up to {per_s(found.rate or 0.0)}, the last step."
    return f"P95 crosses {slo_ms:g} ms at {per_s(found.rate or 0.0)}."


def per_s(rate: float) -> str:
    """A rate with two digits that count."""
    return f"{rate:.0f}/s" if rate >= 100 else f"{rate:.1f}/s" if rate >= 10 else f"{rate:.2f}/s"


def ms(milliseconds: float) -> str:
    """A time; a dash if there is none."""
    return f"{milliseconds:,.0f} ms" if math.isfinite(milliseconds) else "-"
