"""Whether other buckets or numbers of rows would do: recognition calls that pages would need, and what they would cost.

Computed, not measured: from the widths of the lines of all pages, and from the times of single calls. Pure.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import KINDS, Measured
from triton_models.catalog import LINE_HEIGHT
from triton_models.layouts import CHUNK_AREA, PER_SHAPE_SHAPES, rows_of

FULL = CHUNK_AREA // LINE_HEIGHT
"""Pixels of width in a full chunk."""
ROWS, BUCKETS = PER_SHAPE_SHAPES.row_counts, PER_SHAPE_SHAPES.buckets
TWICE = (96, 160, 240, 320, 400, 480, 640, 800, 960, 1280, 1600, 2560)
HALF = (320, 640, 1280, 2560)
CHOICES: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "as served": (BUCKETS, ROWS),
    "and 64 narrow rows": (BUCKETS, (1, 8, 32, 64)),
    "and 4 and 16 rows": (BUCKETS, (1, 4, 8, 16, 32)),
    "twice as many buckets": (TWICE, ROWS),
    "four buckets": (HALF, ROWS),
}
"""(buckets, row counts) that are compared."""
TOGETHER = 3
"""Pages whose lines share calls: about what a busy gateway reaches."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a call, milliseconds.

    Attributes:
        call: whatever its size.
        full: more for the pixels of a full chunk.
    """

    call: float
    full: float

    def of(self, calls: Sequence[float]) -> float:
        """All these calls, each given as its share of a full chunk."""
        return self.call * len(calls) + self.full * sum(calls)


def cost(measured: Measured, label: str) -> Cost:
    """A line through the times of the recogniser's calls of one kind, by their size."""
    sizes, times = [], []
    for case in measured["sessions"]["cases"]:
        rows, height, width, _ = case["shape"]
        if case["label"] == label and height == LINE_HEIGHT and "ms" in case:
            sizes.append(rows * width / FULL)
            times.append(case["ms"])
    slope, intercept = linear_regression(sizes, times)
    return Cost(intercept, slope)


def calls_for(widths: Sequence[int], buckets: Sequence[int], row_counts: tuple[int, ...]) -> Iterator[float]:
    """The calls that read these lines, each as its share of a full chunk."""
    narrower = 0
    for bucket in buckets:
        lines = sum(narrower < min(width, buckets[-1]) <= bucket for width in widths)
        narrower, counts = bucket, rows_of(bucket, row_counts)
        while lines > 0:
            rows = counts[min(bisect_left(counts, lines), len(counts) - 1)]
            yield rows * bucket / FULL
            lines -= rows


def choices(measured: Measured) -> str:
    """Calls and milliseconds a page for each choice and kind of page."""
    alone, overlapping = cost(measured, "top1"), cost(measured, "CUDA graph")
    rows = []
    for title, (buckets, counts) in CHOICES.items():
        cells = []
        for kind in KINDS:
            groups = [list(calls_for(lines, buckets, counts)) for lines in _groups(measured["line widths"][kind])]
            pages = len(measured["line widths"][kind])
            calls, one, other = (
                sum(values) / pages for values in (map(len, groups), map(alone.of, groups), map(overlapping.of, groups))
            )
            cells.append(f"{calls:.1f}: {one:.1f}, {other:.1f}")
        models = sum(len(rows_of(bucket, counts)) for bucket in buckets)
        rows.append([title, str(models), *cells])
    return table(["calls a page: ms alone, ms overlapping", "models", *KINDS], rows)


def _groups(pages: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The lines of a few pages together."""
    for start in range(0, len(pages), TOGETHER):
        yield [width for lines in pages[start : start + TOGETHER] for width in lines]


def price(measured: Measured) -> str:
    """What a call costs, in a sentence."""
    alone, overlapping = cost(measured, "top1"), cost(measured, "CUDA graph")
    lines = fmean(len(lines) for lines in measured["line widths"]["receipts"])
    return (
        f"A call takes {alone.call:.1f} ms and {alone.full:.1f} more for the pixels of a full chunk when it has the "
        f"GPU to itself; where calls overlap, only what the GPU computes counts, {overlapping.call:.1f} and "
        f"{overlapping.full:.1f} by the CUDA graphs. With that, the lines of {TOGETHER} pages together (a receipt has "
        f"{lines:.0f}, second readings included):"
    )
