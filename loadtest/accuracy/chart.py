"""A bar chart as SVG: one row a group, one bar for each reader. Small enough to be read in a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

STYLE = 'font-family="sans-serif" font-size="11" fill="#24292f"'
COLOURS = ("#b0b7c3", "#1f6feb")
LABEL_WIDTH, BAR_LENGTH, VALUE_WIDTH = 96, 440, 64
BAR_HEIGHT, GAP, HEADER_HEIGHT = 9, 8, 30
ROW_HEIGHT = 2 * BAR_HEIGHT + GAP
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class BarRow:
    """Two values side by side.

    Attributes:
        label: of the row.
        values: one for each series, 0 to 1.
    """

    label: str
    values: tuple[float, float]


def bar_chart(rows: Sequence[BarRow], series: tuple[str, str]) -> str:
    """The chart as an SVG document. It brings its own white ground, for pages with a dark one."""
    width, height = LABEL_WIDTH + BAR_LENGTH + VALUE_WIDTH, HEADER_HEIGHT + len(rows) * ROW_HEIGHT + GAP
    body = [*legend(series), *grid(height), *(part for index, row in enumerate(rows) for part in bars(index, row))]
    size = f'width="{width}" height="{height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *body, "</svg>\n"])


def legend(series: tuple[str, str]) -> list[str]:
    """A square and a name for each series."""
    return [
        f'<rect x="{LABEL_WIDTH + 90 * index}" y="9" width="10" height="10" fill="{colour}"/>'
        f'<text x="{LABEL_WIDTH + 90 * index + 15}" y="18">{escape(name)}</text>'
        for index, (colour, name) in enumerate(zip(COLOURS, series, strict=True))
    ]


def grid(height: int) -> list[str]:
    """Thin lines at the ticks."""
    places = [LABEL_WIDTH + BAR_LENGTH * tick for tick in TICKS]
    return [f'<path d="M{x:g} {HEADER_HEIGHT - 4}V{height - GAP}" stroke="#e4e7eb"/>' for x in places]


def bars(index: int, row: BarRow) -> list[str]:
    """The label, and a bar with its value for each series."""
    top = HEADER_HEIGHT + index * ROW_HEIGHT
    parts = [f'<text x="{LABEL_WIDTH - 8}" y="{top + BAR_HEIGHT + 4}" text-anchor="end">{escape(row.label)}</text>']
    for number, (colour, value) in enumerate(zip(COLOURS, row.values, strict=True)):
        y, length = top + number * BAR_HEIGHT, BAR_LENGTH * value
        parts.append(
            f'<rect x="{LABEL_WIDTH}" y="{y}" width="{length:.1f}" height="{BAR_HEIGHT - 1}" fill="{colour}"/>'
            f'<text x="{LABEL_WIDTH + length + 4:.1f}" y="{y + 8}" font-size="9">{value:.3f}</text>'
        )
    return parts
