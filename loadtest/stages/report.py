"""The tables of `make bench-stages`."""

from collections.abc import Mapping
from statistics import median, quantiles

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.report import table
from loadtest.stages.measure import HTTP, Costs


def describe(costs: Mapping[str, Costs], circumstances: Circumstances) -> str:
    """What each mix cost."""
    told = f"`{circumstances.command}`, {circumstances.date}, {circumstances.versions_told}, "
    told += f"{circumstances.model_set}; {circumstances.machine}"
    return "\n\n".join([told, _times(costs), _memory(costs)])


def _times(costs: Mapping[str, Costs]) -> str:
    first = next(iter(costs.values()))
    header = ["processor time, ms a page", *(f"{name} ({one.pages})" for name, one in costs.items())]
    rows = [
        ["megapixels, lines", *(f"{one.megapixels:.1f}, {one.lines:.0f}" for one in costs.values())],
        *([stage, *(_spread(one.stages_ms[stage]) for one in costs.values())] for stage in first.stages_ms),
        [HTTP, *(f"{one.rest_ms():.1f}" for one in costs.values())],
        ["**everything outside Triton**", *(f"**{_spread(one.total_ms)}**" for one in costs.values())],
    ]
    return table(header, rows)


def _memory(costs: Mapping[str, Costs]) -> str:
    header = ["memory at the most, MiB", *costs]
    stages = next(iter(costs.values())).peak_bytes
    return table(
        header, [[stage, *(f"{one.peak_bytes[stage] / 2**20:.1f}" for one in costs.values())] for stage in stages]
    )


def _spread(values: list[float]) -> str:
    """The median, and the quartiles where there are enough values."""
    if len(values) < 4:
        return f"{median(values):.1f}"
    low, middle, high = quantiles(values, n=4)
    return f"{middle:.1f} ({low:.1f}-{high:.1f})"
