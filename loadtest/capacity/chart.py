"""For each mix, side by side: times over the rate, and what is in use over the rate. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE
from loadtest.capacity.campaign import MixResult
from loadtest.capacity.steps import knee
from loadtest.capacity.told import ms
from loadtest.capacity.usage import LOOP, MACHINE, SLOTS, THREADS, Usage

LEFT, WIDTH, BETWEEN, RIGHT = 64, 300, 64, 20
TOP, HEIGHT, GAP = 66, 130, 58
GRID, SLO, KNEE = "#e4e7eb", "#cf222e", "#8c959f"
TIMES = {"P50": "#8cb4f5", "P95": "#1f6feb"}
INSTANCES = "Triton's instances"
IN_USE = {
    MACHINE: "#24292f",
    INSTANCES: "#bf8700",
    LOOP: "#1f6feb",
    THREADS: "#2da44e",
    SLOTS: "#a475f9",
}
MOST_SHARE = 1.2
"""Shares beyond it lie on the upper edge: an event loop can be late without limit."""
MOST_TICKS = 6
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """One plot.

    Attributes:
        left, top: of its area.
        most_rate: at its right edge; 0 is at the left.
        low, high: at the lower and the upper edge.
        logarithmic: the vertical axis.
    """

    left: float
    top: float
    most_rate: float
    low: float
    high: float
    logarithmic: bool

    def x(self, rate: float) -> float:
        """Where a rate lies."""
        return self.left + WIDTH * rate / self.most_rate

    def y(self, value: float) -> float:
        """Where a value lies; on an edge if it is beyond."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.top + HEIGHT * (1.0 - share)

    def grid(self, values: Sequence[float], labels: Sequence[str]) -> Iterator[str]:
        """Thin lines and what they mean; below, some rates."""
        for value, label in zip(values, labels, strict=True):
            y = self.y(value)
            yield f'<path d="M{self.left} {y:.1f}h{WIDTH}" stroke="{GRID}"/>'
            yield f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        for rate in round_rates(self.most_rate):
            y = self.top + HEIGHT + 14
            yield f'<text x="{self.x(rate):.1f}" y="{y}" text-anchor="middle">{rate:g}/s</text>'

    def line(self, points: Sequence[Point], colour: str) -> str:
        """Points in order, each marked."""
        places = [(self.x(rate), self.y(value)) for rate, value in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>' for x, y in places)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>{marks}'


def round_rates(most: float) -> list[float]:
    """From 0 on in steps of 1, 2 or 5 times a power of ten; 3 to 6 of them."""
    power = 10.0 ** math.floor(math.log10(most))
    step = next(step for step in (power / 5, power / 2, power, 2 * power) if most / step < MOST_TICKS)
    return [round(step * number, 9) for number in range(int(most / step) + 1)]


def chart(results: Sequence[MixResult], slo_ms: float) -> str:
    """Everything as one SVG document. It brings its own white ground, for pages with a dark one."""
    rows = [part for number, one in enumerate(results) for part in _row(one, TOP + (HEIGHT + GAP) * number, slo_ms)]
    width, height = LEFT + WIDTH + BETWEEN + WIDTH + RIGHT, TOP + (HEIGHT + GAP) * len(results)
    size = f'width="{width}" height="{height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *_legend(slo_ms), *rows, "</svg>\n"])


def _legend(slo_ms: float) -> Iterator[str]:
    yield from _entries(LEFT, 10, {**TIMES, f"{slo_ms:g} ms": SLO, "knee": KNEE})
    in_use = list(IN_USE.items())
    yield from _entries(LEFT + WIDTH + BETWEEN, 10, dict(in_use[:3]))
    yield from _entries(LEFT + WIDTH + BETWEEN, 28, dict(in_use[3:]))


def _entries(x: float, y: float, colours: Mapping[str, str]) -> Iterator[str]:
    """A square and a name for each, in a row."""
    for name, colour in colours.items():
        yield f'<rect x="{x}" y="{y}" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="{y + 9}">{escape(name)}</text>'
        x += 30 + 6.2 * len(name)


def _row(one: MixResult, top: float, slo_ms: float) -> Iterator[str]:
    most = 1.08 * max(step.offered_per_s for step in one.steps)
    yield f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{escape(one.mix)}: time over rate</text>'
    yield from _times(one, top, most, slo_ms)
    x = LEFT + WIDTH + BETWEEN
    yield f'<text x="{x}" y="{top - 8}" font-weight="bold">{escape(one.mix)}: in use over rate</text>'
    yield from _in_use(one, Axes(x, top, most, 0.0, MOST_SHARE, logarithmic=False))


def _times(one: MixResult, top: float, most: float, slo_ms: float) -> Iterator[str]:
    lines = {
        "P50": [(step.offered_per_s, step.p50_ms) for step in one.steps if math.isfinite(step.p50_ms)],
        "P95": [(step.offered_per_s, step.p95_ms) for step in one.steps if math.isfinite(step.p95_ms)],
    }
    values = [value for points in lines.values() for _, value in points] or [slo_ms]
    low, high = min(slo_ms, *values) / 1.5, max(slo_ms, *values) * 1.5
    axes = Axes(LEFT, top, most, low, high, logarithmic=True)
    ticks = [tick for tick in _round_values() if low <= tick <= high]
    yield from axes.grid(ticks, [ms(tick) if tick < 1000 else f"{tick / 1000:g} s" for tick in ticks])
    yield f'<path d="M{LEFT} {axes.y(slo_ms):.1f}h{WIDTH}" stroke="{SLO}" stroke-dasharray="5 3"/>'
    x = axes.x(knee(one.steps).offered_per_s)
    yield f'<path d="M{x:.1f} {top}v{HEIGHT}" stroke="{KNEE}" stroke-dasharray="2 3"/>'
    yield from (axes.line(points, TIMES[name]) for name, points in lines.items())


def _round_values() -> Iterator[float]:
    """1, 2, 5, 10 and so on, milliseconds."""
    for power in range(7):
        yield from (first * 10.0**power for first in (1, 2, 5))


def _in_use(one: MixResult, axes: Axes) -> Iterator[str]:
    yield from axes.grid(SHARES, [f"{share:.0%}" for share in SHARES])
    for name, colour in IN_USE.items():
        points = [
            (step.offered_per_s, share)
            for step, used in zip(one.steps, one.usages, strict=True)
            if (share := _share(used, name)) is not None
        ]
        if points:
            yield axes.line(points, colour)


def _share(used: Usage, name: str) -> float | None:
    """Of what is in the legend."""
    return used.busiest_model() if name == INSTANCES else used.shares.get(name)
