"""The incident as a picture: answers, error ratios, and who knew of it when. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE
from loadtest.observe.asking import Course
from loadtest.observe.incident import Record

LEFT, WIDTH, RIGHT = 120, 560, 20
TOP, HEIGHT, GAP, BAR = 36, 120, 44, 16
GRID, HANG, COLOURS = "#e4e7eb", "#ffebe9", ("#1f6feb", "#cf222e")
PLOTS: Mapping[str, Sequence[str]] = {
    "answers per second": ("answered per second", "failed per second"),
    "share that failed": ("failed, 5 min window", "failed, 1 h window"),
}
STATES = ("Triton silent", "page fires", "ready")


def chart(record: Record) -> str:
    """Everything as one SVG document. It brings its own white ground, for pages with a dark one."""
    parts: list[str] = []
    for number, (title, names) in enumerate(PLOTS.items()):
        parts += plot(record, TOP + (HEIGHT + GAP) * number, title, names)
    bottom = TOP + (HEIGHT + GAP) * len(PLOTS)
    parts += states(record, bottom)
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{bottom + (BAR + 8) * len(STATES) + 30}"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>', f'<rect {size} fill="white"/>', *parts, "</svg>\n"]
    )


def plot(record: Record, top: float, title: str, names: Sequence[str]) -> Iterator[str]:
    """Lines over time, and the hang behind them."""
    courses = [record.courses[name] for name in names]
    most = max((value for course in courses for _, value in course), default=1.0) or 1.0
    yield hang(record, top, HEIGHT)
    yield f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{escape(title)}</text>'
    for share in (0.0, 0.5, 1.0):
        y = top + HEIGHT * (1 - share)
        yield f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" stroke="{GRID}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * most:.2g}</text>'
    for number, (name, course, colour) in enumerate(zip(names, courses, COLOURS, strict=True)):
        points = " ".join(f"{x(record, at):.1f},{top + HEIGHT * (1 - value / most):.1f}" for at, value in course)
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        place = LEFT + WIDTH - 150 * (len(names) - number)
        yield f'<text x="{place}" y="{top - 10}" fill="{colour}">{escape(name)}</text>'


def states(record: Record, top: float) -> Iterator[str]:
    """A bar for each state while it holds."""
    for number, name in enumerate(STATES):
        y = top + (BAR + 8) * number
        yield f'<text x="{LEFT - 6}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
        for start, end in spans(record.courses[name]):
            left, right = x(record, start), x(record, end)
            size = f'width="{right - left:.1f}" height="{BAR}"'
            yield f'<rect x="{left:.1f}" y="{y}" {size} fill="{COLOURS[name != "ready"]}"/>'
    y = top + (BAR + 8) * len(STATES) + 14
    for share in range(5):
        seconds = share * (record.ended_at - record.began_at) / 4
        yield f'<text x="{LEFT + WIDTH * share / 4:.1f}" y="{y}" text-anchor="middle">{seconds:.0f} s</text>'


def hang(record: Record, top: float, height: float) -> str:
    """Where Triton hung."""
    left, right = x(record, record.hung_at), x(record, record.went_on_at)
    return f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{height}" fill="{HANG}"/>'


def spans(course: Course) -> Iterator[tuple[float, float]]:
    """When a state held, from its first to its last second."""
    start: float | None = None
    last = 0.0
    for at, value in course:
        if value and start is None:
            start = at
        if not value and start is not None:
            yield start, at
            start = None
        last = at
    if start is not None:
        yield start, last


def x(record: Record, moment: float) -> float:
    """Where a moment lies."""
    return LEFT + WIDTH * (moment - record.began_at) / (record.ended_at - record.began_at)
