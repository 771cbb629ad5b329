"""The report of `make capacity`, as Markdown. Pure."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.report import table
from loadtest.capacity.campaign import MixResult
from loadtest.capacity.pages import DOCUMENT_PAGES
from loadtest.capacity.samples import FIRST_PAGE
from loadtest.capacity.steps import StepResult, crossing, knee, peak, sizing
from loadtest.capacity.told import conclusion, ms, per_s
from loadtest.capacity.usage import (
    GATEWAY,
    GENERATOR,
    LOOP,
    MACHINE,
    OTHERS,
    SLOTS,
    THREADS,
    TRITON,
    WAITS,
    Usage,
    first_full,
)

MOST_OTHERS = 0.2
"""Cores that anybody else may use."""
PARTS = (TRITON, GATEWAY, GENERATOR, OTHERS)


def markdown(
    results: Sequence[MixResult], circumstances: Circumstances, measured: str, slo_ms: float, targets: Sequence[float]
) -> str:
    """Everything; targets are pages a minute."""
    told = f"`{circumstances.command}`, {circumstances.date}, load test of {circumstances.versions_told}: {measured}."
    return "\n\n".join(
        [
            told,
            _sizes(results, slo_ms, targets),
            f"Each is a page; of documents, a file of {DOCUMENT_PAGES} pages, read as a stream.",
            "![P95 over the rate, and what is in use](capacity.svg)",
            *_doubts(results),
            *(part for one in results for part in _mix(one, slo_ms)),
        ]
    )


def _doubts(results: Sequence[MixResult]) -> Iterator[str]:
    """What makes the figures too low."""
    most = max((used.cores.get(OTHERS, 0.0) for one in results for used in one.usages), default=0.0)
    if most > MOST_OTHERS:
        yield f"**Others took up to {most:.2f} cores meanwhile: what was measured could do more than this.**"


def _sizes(results: Sequence[MixResult], slo_ms: float, targets: Sequence[float]) -> str:
    header = ["mix", "alone", "knee", "the most", f"P95 crosses {slo_ms:g} ms", "full first", "planned with"]
    header += [f"replicas for {target:,.0f}/min" for target in targets]
    return table(header, [_size(one, slo_ms, targets) for one in results])


def _size(one: MixResult, slo_ms: float, targets: Sequence[float]) -> list[str]:
    found = crossing(one.steps, slo_ms)
    crossed = {
        "first": f"before {per_s(one.steps[0].offered_per_s)}",
        "between": f"at {per_s(found.rate or 0.0)}",
        "nowhere": f"above {per_s(found.rate or 0.0)}",
    }
    most = per_s(peak(one.steps)) if any(step.saturated for step in one.steps) else f"> {per_s(peak(one.steps))}"
    full = first_full(one.usages)
    sizes = [sizing(one.steps, slo_ms, target / 60) for target in targets]
    planned = f"{per_s(sizes[0].per_replica)}{', by the peak' if sizes[0].by_peak else ''}" if sizes else "-"
    return [
        one.mix,
        ms(one.alone_ms),
        per_s(knee(one.steps).offered_per_s),
        most,
        crossed[found.where],
        _by_whom(one.usages[full[0]], full[1]) if full else "nothing",
        planned,
        *("-" if size.replicas is None else f"{size.replicas:,}" for size in sizes),
    ]


def _by_whom(used: Usage, name: str) -> str:
    """What is full; and a machine that others have filled says nothing about what is measured."""
    others = max(PARTS, key=lambda part: used.cores.get(part, 0.0)) == OTHERS
    return f"{name}, by others" if name == MACHINE and others else name


def _mix(one: MixResult, slo_ms: float) -> Iterator[str]:
    files = "1 file" if one.files == 1 else f"{one.files} files in turn"
    yield f"**{one.mix}** ({files}). {conclusion(one.steps, slo_ms)} {_full(one)} {_grown(one)}"
    header = ["asked", "answered", "P50", "P95", "no page", "processors", f"cores: {', '.join(PARTS)}"]
    header += ["Triton's instances", "loop lag", "threads", "slots", f"waits, ms: {', '.join(WAITS)}"]
    yield table(header, [_row(step, used) for step, used in zip(one.steps, one.usages, strict=True)])


def _row(step: StepResult, used: Usage) -> list[str]:
    failed = ", ".join(f"{count} x {what}" for what, count in step.failed.items())
    return [
        f"{per_s(step.offered_per_s)} ({step.requests})",
        per_s(step.answered_per_s),
        ms(step.p50_ms),
        ms(step.p95_ms),
        failed or "0",
        percent(used.shares.get(MACHINE)),
        ", ".join(cores(used.cores.get(part)) for part in PARTS),
        percent(used.busiest_model()),
        f"{used.loop_lag_ms:.1f} ms",
        percent(used.shares.get(THREADS)),
        percent(used.shares.get(SLOTS)),
        ", ".join(f"{used.waits_ms.get(what, 0.0):,.0f}" for what in WAITS),
    ]


def _full(one: MixResult) -> str:
    """What is full first, and by whom."""
    found = first_full(one.usages)
    if found is None:
        return "Nothing that is watched was full in any step."
    number, name = found
    used, at = one.usages[number], per_s(one.steps[number].offered_per_s)
    if name == MACHINE:
        taken = ", ".join(f"{part} {used.cores[part]:.2f}" for part in PARTS if part in used.cores)
        return f"Full first, at {at}: the processors of the machine ({percent(used.shares[name])}; cores: {taken})."
    lag = f", {used.loop_lag_ms:.0f} ms late in the mean" if name == LOOP else f" ({percent(used.shares[name])})"
    return f"Full first, at {at}: {name}{lag}."


def _grown(one: MixResult) -> str:
    """The stage whose time has grown the most from the first step to the last."""
    first, last = one.steps[0].stages_ms, one.steps[-1].stages_ms
    grown = {name: spent - first.get(name, 0.0) for name, spent in last.items() if name != FIRST_PAGE}
    name = max(grown, key=lambda stage: grown[stage], default=None)
    if name is None or grown[name] <= 0:
        return ""
    told = f"from {ms(first.get(name, 0.0))} in the first step to {ms(last[name])} in the last"
    return f"Of the stages, {name} grew the most, {told}."


def json_report(results: Sequence[MixResult], circumstances: Circumstances, measured: str) -> str:
    """All figures; those that there are none of are null."""
    mixes = [asdict(one) for one in results]
    figures = {"circumstances": asdict(circumstances), "measured": measured, "mixes": mixes}
    return json.dumps(_finite(figures), indent=1, allow_nan=False)


def _finite(value: object) -> object:
    """JSON has no infinity."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def percent(share: float | None) -> str:
    """A share; a dash if it is unknown."""
    return "-" if share is None else f"{share:.0%}"


def cores(number: float | None) -> str:
    """Processor seconds a second."""
    return "-" if number is None else f"{number:.2f}"
