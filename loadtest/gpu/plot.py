"""Lines over a number, as SVG: latency over load, memory over pages. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE

COLOURS = ("#1f6feb", "#bf8700", "#1a7f37", "#8250df", "#cf222e")
LEFT, WIDTH, RIGHT = 64, 520, 20
TOP, HEIGHT, BOTTOM = 48, 200, 40
GRID = "#e4e7eb"
MOST_TICKS = 6

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Attributes:
        name: in the legend.
        points: (x, y) by ascending x.
    """

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Axes:
    """What the numbers are.

    Attributes:
        x, y: names with their units.
        y_limit: values above it are drawn at the edge; None for room for all.
        mark: a value of y with a line of its own, such as a target.
    """

    x: str
    y: str
    y_limit: float | None = None
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """From 0 to a limit onto so many pixels."""

    limit: float
    pixels: float

    def at(self, value: float) -> float:
        """Pixels from the origin."""
        return self.pixels * min(value, self.limit) / self.limit

    def ticks(self) -> list[float]:
        """A few round values from 0 to the limit."""
        step = round_up(self.limit / MOST_TICKS)
        return [step * index for index in range(math.floor(self.limit / step + 1e-9) + 1)]


def plot(lines: Sequence[Line], axes: Axes) -> str:
    """The lines as an SVG document. It brings its own white ground, for pages with a dark one."""
    points = [point for line in lines for point in line.points]
    across = Scale(max((x for x, _ in points), default=1.0) or 1.0, WIDTH)
    upward = Scale(axes.y_limit or max((y for _, y in points), default=1.0) or 1.0, HEIGHT)
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{TOP + HEIGHT + BOTTOM}"'
    view = f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BOTTOM}"'
    body = [
        *legend(lines),
        *grid(across, upward, axes),
        *(drawn(line, across, upward, colour) for line, colour in zip(lines, COLOURS, strict=False)),
    ]
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *body, "</svg>\n"])


def legend(lines: Sequence[Line]) -> Iterator[str]:
    """A square and a name for each line."""
    pitch = WIDTH // max(1, len(lines))
    for index, (line, colour) in enumerate(zip(lines, COLOURS, strict=False)):
        x = LEFT + pitch * index
        yield f'<rect x="{x}" y="9" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 15}" y="18">{escape(line.name)}</text>'


def grid(across: Scale, upward: Scale, axes: Axes) -> Iterator[str]:
    """Thin lines with their values, the names of the axes, and the mark."""
    bottom = TOP + HEIGHT
    for value in upward.ticks():
        y = bottom - upward.at(value)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,.4g}</text>'
    for value in across.ticks():
        yield f'<text x="{LEFT + across.at(value):.1f}" y="{bottom + 15}" text-anchor="middle">{value:,.5g}</text>'
    yield f'<text x="{LEFT}" y="{TOP - 10}">{escape(axes.y)}</text>'
    yield f'<text x="{LEFT + WIDTH}" y="{bottom + 32}" text-anchor="end">{escape(axes.x)}</text>'
    if axes.mark is not None:
        y = bottom - upward.at(axes.mark)
        yield f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="#cf222e" stroke-dasharray="4 3"/>'


def drawn(line: Line, across: Scale, upward: Scale, colour: str) -> str:
    """One line."""
    bottom = TOP + HEIGHT
    points = " ".join(f"{LEFT + across.at(x):.1f},{bottom - upward.at(y):.1f}" for x, y in line.points)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ... (or their fractions) that is not below the value."""
    magnitude = 10.0 ** math.floor(math.log10(value))
    return next(step * magnitude for step in (1, 2, 5, 10) if step * magnitude >= value * (1 - 1e-9))
