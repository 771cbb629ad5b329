"""Goodput as a picture: over the load that is offered, and over the time around a flood. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE
from loadtest.overload.phases import CALM, FACTORS, JUMPS, PAGES
from loadtest.overload.results import JumpResult, StandResult

COLOURS = ("#1f6feb", "#bf8700")
LEFT, WIDTH, RIGHT = 56, 560, 20
TOP, HEIGHT, GAP = 40, 150, 46
GRID, FLOOD, INK = "#e4e7eb", "#eaeef2", "#24292f"
MOST = 1.25
"""Shares of the peak that have room in the picture."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
BIN_S = 0.5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot.

    Attributes:
        top: of its area.
        title: above it.
    """

    top: float
    title: str

    def y(self, share: float) -> float:
        """Where a share of the peak lies."""
        return self.top + HEIGHT * (1.0 - min(share, MOST) / MOST)

    def frame(self) -> Iterator[str]:
        """Title, and thin lines at round shares."""
        yield f'<text x="{LEFT}" y="{self.top - 8}" font-weight="bold">{escape(self.title)}</text>'
        for share in SHARES:
            y = self.y(share)
            yield f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" stroke="{GRID}"/>'
            yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'

    def label(self, x: float, text: str) -> str:
        """A word below the axis."""
        return f'<text x="{x:.1f}" y="{self.top + HEIGHT + 14}" text-anchor="middle">{escape(text)}</text>'

    def line(self, points: Sequence[Point], colour: str) -> str:
        """Points in order."""
        path = " ".join(f"{x:.1f},{self.y(share):.1f}" for x, share in points)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def chart(results: Sequence[StandResult]) -> str:
    """Everything as one SVG document. It brings its own white ground, for pages with a dark one."""
    panels = [Panel(TOP + (HEIGHT + GAP) * number, title) for number, title in enumerate(titles())]
    parts = [*legend(results), *over_load(panels[0], results)]
    for panel, name in zip(panels[1:], JUMPS, strict=True):
        parts += over_time(panel, [(result.peak, result.jumps[name]) for result in results])
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{TOP + (HEIGHT + GAP) * len(panels)}"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>', f'<rect {size} fill="white"/>', *parts, "</svg>\n"]
    )


def titles() -> list[str]:
    """One for each panel."""
    return ["goodput over load, both as shares of the peak", *(f"goodput over seconds: {name}" for name in JUMPS)]


def legend(results: Sequence[StandResult]) -> Iterator[str]:
    """A square and a name for each stand."""
    for number, (result, colour) in enumerate(zip(results, COLOURS, strict=False)):
        x = LEFT + WIDTH - 100 * (len(results) - number)
        yield f'<rect x="{x}" y="8" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="17">{result.name}</text>'


def over_load(panel: Panel, results: Sequence[StandResult]) -> Iterator[str]:
    """A line for each stand."""
    yield from panel.frame()
    places = {factor: LEFT + WIDTH * log_share(factor) for factor in (CALM, *FACTORS)}
    yield from (panel.label(x, f"{factor:g} x") for factor, x in places.items())
    for result, colour in zip(results, COLOURS, strict=False):
        shares = [(x, result.stream(f"{factor:g} x", PAGES).goodput / result.peak) for factor, x in places.items()]
        yield panel.line(shares, colour)


def log_share(factor: float) -> float:
    """Where a load lies between the least and the most, on a logarithmic axis."""
    return 0.05 + 0.9 * math.log(factor / CALM) / math.log(FACTORS[-1] / CALM)


def over_time(panel: Panel, jumps: Sequence[tuple[float, JumpResult]]) -> Iterator[str]:
    """A line for each stand; the time of the flood is grey."""
    bins = max(len(jump.goodput) for _, jump in jumps)
    begin, end = (LEFT + WIDTH * at / (BIN_S * bins) for at in jumps[0][1].flood)
    yield f'<rect x="{begin:.1f}" y="{panel.top}" width="{end - begin:.1f}" height="{HEIGHT}" fill="{FLOOD}"/>'
    yield from panel.frame()
    step = max(1, math.ceil(BIN_S * bins / 10))
    yield from (
        panel.label(LEFT + WIDTH * at / (BIN_S * bins), str(at)) for at in range(0, int(BIN_S * bins) + 1, step)
    )
    for (peak, jump), colour in zip(jumps, COLOURS, strict=False):
        points = [(LEFT + WIDTH * (number + 0.5) / bins, goodput / peak) for number, goodput in enumerate(jump.goodput)]
        yield panel.line(points, colour)
