"""The dashboards as pictures: what every query of every panel gave over the incident, two panels in a row. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE
from loadtest.observe.asking import Course, Drawn, Series
from loadtest.observe.chart import GRID, HANG
from loadtest.observe.incident import Record

COLUMNS = 2
WIDTH, HEIGHT = 400, 190
"""Of a panel."""
LEFT, TOP, RIGHT, BOTTOM = 68, 24, 12, 62
"""Of its plot, from its edges."""
GAP_S = 2.0
"""Without a value for so long, a line ends; there is one every second."""
MOST_LEGENDS = 6
LEGEND_WIDTH = 30
"""Characters of a legend that there is room for."""
COLOURS = ("#1f6feb", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#57606a", "#0a7ea4", "#bc4c00")
MICROSECONDS = "µs"
UNITS = {"s": "s", "bytes": "B", "Bps": "B/s", "reqps": "/s", "percentunit": "", "watt": "W", "none": ""}
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


def boards(record: Record) -> dict[str, str]:
    """Each dashboard by its title, as an SVG document with a white ground of its own."""
    return {
        title: board(record, list(drawn)) for title, drawn in groupby(record.drawn, lambda one: one.query.dashboard)
    }


def board(record: Record, drawn: Sequence[Drawn]) -> str:
    """One dashboard; panels that need a GPU are named, not drawn."""
    panels = [(title, list(some)) for title, some in groupby(drawn, lambda one: one.query.panel)]
    rows = (len(panels) + COLUMNS - 1) // COLUMNS
    size = f'width="{COLUMNS * WIDTH}" height="{rows * HEIGHT}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>', f'<rect {size} fill="white"/>']
    for number, (title, some) in enumerate(panels):
        row, column = divmod(number, COLUMNS)
        parts.append(f'<g transform="translate({column * WIDTH} {row * HEIGHT})">')
        parts += panel(record, title, some)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def panel(record: Record, title: str, drawn: Sequence[Drawn]) -> Iterator[str]:
    """One panel: the lines of its queries, the hang behind them, and what the lines are."""
    yield f'<text x="8" y="16" font-weight="bold">{escape(title)}</text>'
    if drawn[0].query.needs_gpu:
        yield f'<text x="{LEFT}" y="{TOP + 20}">needs a GPU</text>'
        return
    series = [one for query in drawn for one in query.series if one.course]
    most = max((value for one in series for _, value in one.course), default=0.0) or 1.0
    yield from ground(record, most, drawn[0].query.unit)
    for number, one in enumerate(series):
        for piece in pieces(one.course):
            points = " ".join(f"{across(record, at):.1f},{height(value, most):.1f}" for at, value in piece)
            colour = COLOURS[number % len(COLOURS)]
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.3"/>'
    yield from legends(series)


def pieces(course: Course) -> Iterator[Course]:
    """A course between its gaps: nothing is known of them, so nothing is drawn there."""
    piece: list[tuple[float, float]] = []
    for at, value in course:
        if piece and at - piece[-1][0] > GAP_S:
            yield piece
            piece = []
        piece.append((at, value))
    if piece:
        yield piece


def ground(record: Record, most: float, unit: str) -> Iterator[str]:
    """The hang, the lines of the scale, and its figures."""
    left, right = across(record, record.hung_at), across(record, record.went_on_at)
    plot = HEIGHT - TOP - BOTTOM
    yield f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{plot}" fill="{HANG}"/>'
    for share in (0.0, 0.5, 1.0):
        y = height(share * most, most)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{quantity(share * most, unit)}</text>'


def legends(series: Sequence[Series]) -> Iterator[str]:
    """What the lines are, two to a row; how many more there are."""
    for number, one in enumerate(series[:MOST_LEGENDS]):
        row, column = divmod(number, COLUMNS)
        text = one.legend if len(one.legend) <= LEGEND_WIDTH else f"{one.legend[: LEGEND_WIDTH - 1]}…"
        if number == MOST_LEGENDS - 1 and len(series) > MOST_LEGENDS:
            text = f"and {len(series) - number} more"
        place = f'x="{LEFT + column * (WIDTH - LEFT) / COLUMNS:.0f}" y="{HEIGHT - BOTTOM + 18 + 14 * row}"'
        yield f'<text {place} font-size="9" fill="{COLOURS[number % len(COLOURS)]}">{escape(text)}</text>'


def across(record: Record, moment: float) -> float:
    """Where a moment lies in a panel."""
    share = (moment - record.began_at) / (record.ended_at - record.began_at)
    return LEFT + (WIDTH - LEFT - RIGHT) * share


def height(value: float, most: float) -> float:
    """Where a value lies in a panel; nothing is below 0, as in Grafana."""
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, value) / most)


def quantity(value: float, unit: str) -> str:
    """A value with its unit, as people write it."""
    if unit == "percentunit":
        return f"{100 * value:.3g}%"
    if unit == MICROSECONDS:
        return quantity(value / 1e6, "s")
    if not UNITS[unit] and abs(value) < 1:
        return f"{value:.3g}"
    factor, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), (1.0, ""))
    return f"{value / factor:.3g} {prefix}{UNITS[unit]}".strip()
