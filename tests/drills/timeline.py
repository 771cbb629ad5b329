"""Drills as a picture: a strip for each, requests over time, stacked and coloured by how they ended. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from tests.drills.course import Course
from tests.drills.ledger import Ending, Exchange

STYLE = 'font-family="sans-serif" font-size="11" fill="#24292f"'
COLOURS: Mapping[str, str] = {
    "page": "#2da44e",
    "refused at once": "#bf8700",
    "refused at the deadline": "#cf222e",
    "lost, or answered by the proxy": "#8250df",
    "left": "#b0b7c3",
}
LEFT, WIDTH, RIGHT = 150, 620, 20
TITLE_HEIGHT, BARS_HEIGHT, AXIS_HEIGHT, LEGEND_HEIGHT = 4, 44, 16, 28
STRIP_HEIGHT = TITLE_HEIGHT + BARS_HEIGHT + AXIS_HEIGHT
BIN_S, MOST_BINS = 0.2, 80
MARGIN_S = 0.25
"""A refusal this near to the deadline had to wait for it."""


def chart(courses: Mapping[str, Course]) -> str:
    """All strips as one SVG document, under one legend. It brings its own white ground, for pages with a dark one."""
    width, height = LEFT + WIDTH + RIGHT, LEGEND_HEIGHT + STRIP_HEIGHT * len(courses)
    parts = [*legend(), *(part for index, name in enumerate(courses) for part in strip(name, courses[name], index))]
    size = f'width="{width}" height="{height}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *parts, "</svg>\n"])


def legend() -> Iterator[str]:
    """A square and a word for each way to end."""
    left = 8
    for word, colour in COLOURS.items():
        yield f'<rect x="{left}" y="8" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{left + 14}" y="17">{escape(word)}</text>'
        left += 30 + 6 * len(word)


def strip(name: str, course: Course, index: int) -> Iterator[str]:
    """One drill: its name, its bars, the fault as a grey ground, and seconds since the fault below."""
    base = LEGEND_HEIGHT + STRIP_HEIGHT * index + TITLE_HEIGHT + BARS_HEIGHT
    begin, end = span(course)
    scale = WIDTH / (end - begin)

    def place(at: float) -> float:
        return LEFT + scale * (at - begin)

    fault_left, fault_right = place(course.injected_at), place(course.healed_at)
    yield f'<text x="{LEFT - 8}" y="{base - 14}" text-anchor="end">{escape(name)}</text>'
    yield (
        f'<rect x="{fault_left:.1f}" y="{base - BARS_HEIGHT}" width="{max(1.0, fault_right - fault_left):.1f}" '
        f'height="{BARS_HEIGHT}" fill="#eaeef2"/>'
    )
    yield from bars(course, base)
    yield f'<path d="M{fault_left:.1f} {base - BARS_HEIGHT}V{base + 3}" stroke="#24292f"/>'
    for seconds in ticks(begin - course.injected_at, end - course.injected_at):
        x = place(course.injected_at + seconds)
        yield f'<text x="{x:.1f}" y="{base + 12}" font-size="9" text-anchor="middle">{seconds:g}</text>'


def bars(course: Course, base: float) -> Iterator[str]:
    """A stack for every bin in which a request was sent."""
    stacks = counted(course)
    tallest = max((sum(stack.values()) for stack in stacks), default=1)
    begin, end = span(course)
    step = WIDTH * bin_seconds(course) / (end - begin)
    for number, stack in enumerate(stacks):
        bottom = float(base)
        for word in filter(stack.__getitem__, COLOURS):
            height = BARS_HEIGHT * stack[word] / tallest
            bottom -= height
            place = f'x="{LEFT + step * number:.1f}" y="{bottom:.1f}" width="{step:.1f}" height="{height:.1f}"'
            yield f'<rect {place} fill="{COLOURS[word]}"/>'


def counted(course: Course) -> list[Counter[str]]:
    """For each bin, how the requests ended that were sent in it."""
    begin, end = span(course)
    stacks = [Counter[str]() for _ in range(math.ceil((end - begin) / bin_seconds(course)))]
    for exchange in course.exchanges:
        number = int((exchange.sent_at - begin) / bin_seconds(course))
        stacks[number][word_for(exchange, course.deadline_s)] += 1
    return stacks


def bin_seconds(course: Course) -> float:
    """Length of a bin: a multiple of the shortest, so that a steady rate looks steady."""
    begin, end = span(course)
    return BIN_S * math.ceil((end - begin) / (BIN_S * MOST_BINS))


def word_for(exchange: Exchange, deadline_s: float) -> str:
    """How it ended, in the words of the legend."""
    if exchange.ok:
        return "page"
    if exchange.ending is Ending.LEFT:
        return "left"
    if exchange.ending is not Ending.ANSWERED:
        return "lost, or answered by the proxy"
    waited = exchange.ended_at - exchange.sent_at
    return "refused at the deadline" if waited >= deadline_s - MARGIN_S else "refused at once"


def span(course: Course) -> tuple[float, float]:
    """When the first and the last request were sent, and a moment more."""
    return course.started_at, max((one.sent_at for one in course.exchanges), default=course.healed_at) + 0.001


def ticks(begin: float, end: float) -> Sequence[int]:
    """Round seconds, at most a dozen of them, nought included."""
    step = next((step for step in (1, 2, 5, 10, 20, 60) if (end - begin) / step <= 12), 300)
    return [step * number for number in range(math.ceil(begin / step), math.floor(end / step) + 1)]
