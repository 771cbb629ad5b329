"""Paragraphs: lines that follow each other in reading order and belong together, by where they stand.

Two lines are of one paragraph if the second stands below the first in the same column, is about as thick, and no
further down than lines of this page usually are. A line that is indented begins a paragraph; so does one that hangs out
to the left of the lines before it, as the items of a list do. Parts of one row belong together if they nearly touch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gateway.arrays import Quad
from gateway.ocr.columns import is_vertical
from gateway.ocr.elements import Paragraph
from gateway.ocr.page_frame import Corners, PageFrame, turn
from gateway.ocr.reading_order import boxes_of, turn_across

SAME_THICKNESS = 0.65
"""Lines of a paragraph are at least this thick, of each other's thickness."""

SAME_COLUMN = 0.5
"""They overlap by at least this much of the shorter one."""

SPARE_GAP = 0.35
"""White between lines may exceed the page's usual by so many thicknesses, ..."""

MAX_GAP = 1.5
"""... but be no wider than so many."""

INDENT = 0.8
"""A line begins this many thicknesses further in, or out, if that means something."""

TOUCHING = 1.0
"""Parts of one row are this close, in thicknesses."""


@dataclass(frozen=True, slots=True)
class _Line:
    left: float
    top: float
    right: float
    bottom: float
    vertical: bool

    @property
    def thickness(self) -> float:
        return self.bottom - self.top


def paragraphs(quads: Sequence[Quad], frame: PageFrame) -> tuple[Paragraph, ...]:
    """The paragraphs of a page; each line is in exactly one.

    Args:
        quads: of its lines, in reading order.
        frame: in which its text is upright and level.
    """
    if not quads:
        return ()
    across = turn_across(frame.turned)
    corners, vertical = _running_right(frame.level(quads), across)
    boxes: list[tuple[float, float, float, float]] = boxes_of(corners).tolist()
    lines = [_Line(*box, runs_down) for box, runs_down in zip(boxes, vertical, strict=True)]
    return tuple(
        Paragraph(tuple(group), _around(corners[group], frame, 360 - across if vertical[group[0]] else 0))
        for group in _groups(lines)
    )


def _running_right(corners: Corners, across: int) -> tuple[Corners, list[bool]]:
    """The lines in frames in which they run to the right, and which of them run down on the page."""
    vertical = is_vertical(boxes_of(corners))
    return np.where(vertical[:, None, None], turn(corners, across), corners), vertical.tolist()


def _groups(lines: Sequence[_Line]) -> Iterator[list[int]]:
    usual = _usual_gap(lines)
    group: list[int] = []
    for index in range(len(lines)):
        if group and not _belongs(lines, group, index, usual):
            yield group
            group = []
        group.append(index)
    yield group


def _belongs(lines: Sequence[_Line], group: Sequence[int], index: int, usual: float) -> bool:
    """Whether a line goes on with the paragraph of the lines before it."""
    before, line = lines[index - 1], lines[index]
    if before.vertical != line.vertical or not _equally_thick(before, line):
        return False
    if _same_row(before, line):
        return abs(line.left - before.right) <= TOUCHING * line.thickness
    thickness = min(before.thickness, line.thickness)
    if not _same_column(before, line) or _gap(before, line) > min(usual + SPARE_GAP, MAX_GAP) * thickness:
        return False
    margin = INDENT * line.thickness
    hangs_out = len(group) > 1 and line.left < min(lines[one].left for one in group[1:]) - margin
    return not hangs_out and not _is_indented(lines, index, margin)


def _is_indented(lines: Sequence[_Line], index: int, margin: float) -> bool:
    """Whether a line begins further in than both the one before and the one after it."""
    before, line, after = lines[index - 1], lines[index], lines[index + 1 : index + 2]
    return line.left > before.left + margin and all(
        _same_column(line, one) and line.left > one.left + margin for one in after
    )


def _usual_gap(lines: Sequence[_Line]) -> float:
    """The median white between a line and the one below it, in thicknesses."""
    gaps = [_gap(*pair) / max(pair[1].thickness, 1e-6) for pair in pairwise(lines) if _follow(*pair)]
    return float(np.median(gaps)) if gaps else 0.0


def _follow(before: _Line, line: _Line) -> bool:
    """Whether the second may be the next line of a paragraph, as far as its place goes."""
    near = _gap(before, line) <= MAX_GAP * min(before.thickness, line.thickness)
    return before.vertical == line.vertical and near and not _same_row(before, line) and _same_column(before, line)


def _gap(before: _Line, line: _Line) -> float:
    """The white between two lines; infinite if the second does not stand below the first."""
    return line.top - before.bottom if line.top + line.bottom > before.top + before.bottom else np.inf


def _same_row(one: _Line, other: _Line) -> bool:
    shared = min(one.bottom, other.bottom) - max(one.top, other.top)
    return shared >= 0.5 * min(one.thickness, other.thickness)


def _same_column(one: _Line, other: _Line) -> bool:
    shared = min(one.right, other.right) - max(one.left, other.left)
    return shared >= SAME_COLUMN * min(one.right - one.left, other.right - other.left)


def _equally_thick(one: _Line, other: _Line) -> bool:
    thin, thick = sorted((one.thickness, other.thickness))
    return thin >= SAME_THICKNESS * thick


def _around(corners: Corners, frame: PageFrame, turned_back: int) -> Quad:
    """The smallest quad around lines, in the image, from where their text begins."""
    left, top = corners.min(axis=(0, 1))
    right, bottom = corners.max(axis=(0, 1))
    outline = np.array([[[left, top], [right, top], [right, bottom], [left, bottom]]])
    quad: Quad = frame.back(turn(outline, turned_back))[0].astype(np.float32)
    return quad
