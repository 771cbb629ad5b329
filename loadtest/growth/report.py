"""The tables of `make bench-scaling`, and its plots. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from gateway.inference.batcher import BatchLimits
from loadtest.accuracy.report import table
from loadtest.growth.chart import Panel, chart
from loadtest.growth.clients import Lag
from loadtest.growth.one_page import Cost

MIB = 1 << 20
EDGE_S = 0.01
FULL_MEGAPIXELS = 2 * BatchLimits().max_chunk_pixels / 1e6
"""Of lines: as much as is under way at once. A page with less has smaller chunks, which take less memory."""
FLAT_FROM = 10
"""Words on a page from which on the peak of memory is to be flat."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Everything that was measured; what was not is empty.

    Attributes:
        words: by the number of words on a page of 4 MP.
        sizes: by megapixels of a page with the same few lines.
        wide: of a page with 200 lines, and of the same with a very wide one more.
        lags: of the event loop, by kind of models.
    """

    words: Mapping[int, Cost] = field(default_factory=dict)
    sizes: Mapping[float, Cost] = field(default_factory=dict)
    wide: tuple[Cost, Cost] | None = None
    lags: Mapping[str, Sequence[Lag]] = field(default_factory=dict)


def describe(growth: Growth) -> str:
    """The tables, each with what it says."""
    parts = []
    if growth.words:
        parts += [words_table(growth.words), words_told(growth.words)]
    if growth.wide:
        parts += [wide_table(*growth.wide), wide_told(*growth.wide)]
    if growth.sizes:
        parts.append(sizes_table(growth.sizes))
    if growth.lags:
        parts.append(lags_table(growth.lags))
    return "\n\n".join(parts)


def plots(growth: Growth) -> str:
    """Memory and time over words and over megapixels, as SVG."""
    panels = []
    if growth.words:
        panels.append(_memory("peak memory over words on a page, MiB", growth.words))
        area = [(cost.padded_megapixels, cost.recognition_s) for cost in growth.words.values()]
        panels.append(Panel("having words read, s, over padded megapixels", {"": area}, logarithmic=False))
    if growth.sizes:
        panels.append(_memory("peak memory over megapixels of a page, MiB", growth.sizes))
        seconds = [(size, median(cost.total_s)) for size, cost in growth.sizes.items()]
        panels.append(Panel("reading it, s, over megapixels", {"": seconds}))
    return chart(panels)


def _memory(title: str, costs: Mapping[int, Cost] | Mapping[float, Cost]) -> Panel:
    gateway = [(float(x), cost.gateway.peak / MIB) for x, cost in costs.items()]
    triton = [(float(x), cost.triton.peak / MIB) for x, cost in costs.items()]
    return Panel(title, {"gateway": gateway, "Triton": triton})


def words_table(words: Mapping[int, Cost]) -> str:
    """Memory and time by the number of words."""
    header = ["words", "found", *_MEMORY, "padded MP", "recognition, s", "s a padded MP", "all, s"]
    rows = [
        [
            f"{count:,}",
            f"{cost.lines:,}",
            *_memory_of(cost),
            f"{cost.padded_megapixels:.2f}",
            f"{cost.recognition_s:.2f}",
            f"{cost.recognition_s / cost.padded_megapixels:.2f}" if cost.padded_megapixels else "",
            seconds_of(cost),
        ]
        for count, cost in words.items()
    ]
    return table(header, rows)


_MEMORY = ("gateway before, MiB", "at the most", "Triton before, MiB", "at the most")


def _memory_of(cost: Cost) -> list[str]:
    sizes = (cost.gateway.before, cost.gateway.peak, cost.triton.before, cost.triton.peak)
    return [f"{size / MIB:.0f}" for size in sizes]


def seconds_of(cost: Cost) -> str:
    """The median of all readings, and their extremes."""
    return f"{median(cost.total_s):.2f} ({min(cost.total_s):.2f}-{max(cost.total_s):.2f})"


def words_told(words: Mapping[int, Cost]) -> str:
    """How flat memory is, and how well time follows area."""
    measured = [cost for count, cost in words.items() if count >= FLAT_FROM]
    gateway, triton = (
        growth_of(peaks)
        for peaks in ([cost.gateway.peak for cost in measured], [cost.triton.peak for cost in measured])
    )
    fit = linearity((cost.padded_megapixels, cost.recognition_s) for cost in measured)
    full = [cost.triton.peak for cost in measured if cost.padded_megapixels >= FULL_MEGAPIXELS]
    return (
        f"From {FLAT_FROM} words on, the peak grows by {gateway:.1%} in the gateway and {triton:.1%} in Triton, from "
        f"the first to the highest; in Triton by {growth_of(full):.1%} from the first page on whose lines fill two "
        f"chunks. A straight line over padded area explains {fit:.2%} of the differences in time."
    )


def growth_of(values: Sequence[float]) -> float:
    """By how much of the first value the highest exceeds it."""
    return max(values) / values[0] - 1 if values else 0.0


def linearity(points: Iterable[tuple[float, float]]) -> float:
    """R², the share of the variance that a straight line explains; 1 for less than three points."""
    xs, ys = np.array(list(points), float).reshape(-1, 2).T
    if len(xs) < 3 or np.ptp(ys) == 0:
        return 1.0
    slope, offset = np.polyfit(xs, ys, 1)
    return float(1 - np.square(ys - slope * xs - offset).sum() / np.square(ys - ys.mean()).sum())


def wide_table(without: Cost, with_one: Cost) -> str:
    """The two pages."""
    header = ["page", "found", *_MEMORY, "padded MP", "recognition, s", "all, s"]
    names = ("200 lines", "the same and one of 3,000 pixels")
    rows = [
        [
            name,
            f"{cost.lines}",
            *_memory_of(cost),
            f"{cost.padded_megapixels:.2f}",
            f"{cost.recognition_s:.2f}",
            seconds_of(cost),
        ]
        for name, cost in zip(names, (without, with_one), strict=True)
    ]
    return table(header, rows)


def wide_told(without: Cost, with_one: Cost) -> str:
    """What the wide line costs."""
    area = with_one.padded_megapixels / without.padded_megapixels - 1
    recognition = with_one.recognition_s / without.recognition_s - 1
    total = median(with_one.total_s) / median(without.total_s) - 1
    return (
        f"The wide line costs {total:+.1%} of the page's time and {recognition:+.1%} of recognition's; its share of "
        f"the padded area is {area:+.1%}."
    )


def sizes_table(sizes: Mapping[float, Cost]) -> str:
    """Memory and time by the size of the page."""
    header = ["megapixels", "found", *_MEMORY, "decode, s", "detect, s", "recognition, s", "all, s"]
    rows = [
        [
            f"{size:g}",
            f"{cost.lines}",
            *_memory_of(cost),
            f"{cost.stage_s('decode'):.2f}",
            f"{cost.stage_s('detect'):.2f}",
            f"{cost.recognition_s:.2f}",
            seconds_of(cost),
        ]
        for size, cost in sizes.items()
    ]
    return table(header, rows)


def lags_table(lags: Mapping[str, Sequence[Lag]]) -> str:
    """How late the event loop was."""
    header = ["models", "idle", "active", "pages/s", "looks", "within 10 ms", "p50", "p99"]
    rows = [
        [
            name,
            f"{lag.idle}",
            f"{lag.active}",
            f"{lag.answered / lag.seconds:.1f}",
            f"{max(lag.at_most.values()):.0f}",
            f"{lag.share(EDGE_S):.1%}",
            _edge(lag.percentile(0.5)),
            _edge(lag.percentile(0.99)),
        ]
        for name, found in lags.items()
        for lag in found
    ]
    return table(header, rows)


def _edge(seconds: float) -> str:
    return f"≤ {1e3 * seconds:g} ms"
