"""Curves over something that grows tenfold and more, as SVG panels one below the other. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE

LEFT, WIDTH, RIGHT = 64, 520, 120
TOP, HEIGHT, GAP = 34, 130, 50
COLOURS = ("#1f6feb", "#bf8700", "#8250df", "#57606a")
GRID = "#e4e7eb"
STEPS = 4
ROOM = 1.1

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot, from zero upwards.

    Attributes:
        title: with the unit.
        curves: by name, each of (x, y), x above zero.
        logarithmic: whether the axis of x is.
    """

    title: str
    curves: Mapping[str, Curve]
    logarithmic: bool = True

    @property
    def xs(self) -> list[float]:
        """All places on the axis."""
        return sorted({x for curve in self.curves.values() for x, _ in curve})

    @property
    def most(self) -> float:
        """The highest value that has room."""
        return ROOM * max((y for curve in self.curves.values() for _, y in curve), default=1.0) or 1.0


def chart(panels: Sequence[Panel]) -> str:
    """The panels as one document. It brings its own white ground, for pages with a dark one."""
    parts = [part for number, panel in enumerate(panels) for part in _drawn(panel, TOP + (HEIGHT + GAP) * number)]
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{TOP + (HEIGHT + GAP) * len(panels)}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *parts, "</svg>\n"])


def _drawn(panel: Panel, top: float) -> Iterator[str]:
    yield f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{escape(panel.title)}</text>'
    yield from _grid(panel, top)
    for (name, curve), colour in zip(panel.curves.items(), COLOURS, strict=False):
        points = [(_x(panel, x), _y(panel, top, y)) for x, y in curve]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points)
        if points:
            yield f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}" fill="{colour}">{escape(name)}</text>'


def _grid(panel: Panel, top: float) -> Iterator[str]:
    for step in range(STEPS + 1):
        value = panel.most / ROOM * step / STEPS
        y = _y(panel, top, value)
        yield f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    for x in panel.xs:
        yield f'<text x="{_x(panel, x):.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">{_number(x)}</text>'


def _x(panel: Panel, x: float) -> float:
    least, most = panel.xs[0], panel.xs[-1]
    if most == least:
        return LEFT + WIDTH / 2
    share = math.log(x / least) / math.log(most / least) if panel.logarithmic else (x - least) / (most - least)
    return LEFT + WIDTH * share


def _y(panel: Panel, top: float, y: float) -> float:
    return top + HEIGHT * (1 - y / panel.most)


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 10 else f"{x:.2g}"
