"""Memory over the pages of a document, as a picture. Pure."""

from collections.abc import Iterator, Sequence

from loadtest.accuracy.chart import STYLE
from loadtest.documents.streaming import Run

COLOURS = ("#1f6feb", "#bf8700")
LEFT, TOP, WIDTH, HEIGHT = 60, 34, 560, 180
GRID = "#e4e7eb"
MB = 1_000_000
STEPS = 5


def chart(runs: Sequence[Run]) -> str:
    """A line for each document, over the share of it that has been read."""
    most = max(size for run in runs for _, size in run.memory) * 1.15
    lines = [_line(run, colour, most) for run, colour in zip(runs, COLOURS, strict=False)]
    parts = [*_grid(most), *lines, *_legend(runs)]
    size = f'width="{LEFT + WIDTH + 20}" height="{TOP + HEIGHT + 40}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *parts, "</svg>\n"])


def _grid(most: float) -> Iterator[str]:
    for step in range(STEPS):
        value = most * step / (STEPS - 1)
        y = _y(value, most)
        yield f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value / MB:.0f} MB</text>'
        x = LEFT + WIDTH * step / (STEPS - 1)
        yield f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{step / (STEPS - 1):.0%}</text>'
    middle = f'x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 32}" text-anchor="middle"'
    yield f"<text {middle}>of the document has been read</text>"


def _line(run: Run, colour: str, most: float) -> str:
    end = run.arrivals[-1]
    points = " ".join(
        f"{LEFT + WIDTH * seconds / end:.1f},{_y(size, most):.1f}" for seconds, size in run.memory if seconds <= end
    )
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _legend(runs: Sequence[Run]) -> Iterator[str]:
    for number, (run, colour) in enumerate(zip(runs, COLOURS, strict=False)):
        x = LEFT + 160 * number
        yield f'<rect x="{x}" y="10" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{x + 14}" y="19">{run.document.name}</text>'


def _y(value: float, most: float) -> float:
    return TOP + HEIGHT * (1 - value / most)
