"""Reading order: columns one after the other, in each the rows top to bottom, in a row the lines left to right.

Everything is measured in the frame in which the text is upright and level (`gateway.ocr.page_frame`). Columns of text
are told from those of tables in `gateway.ocr.columns`; tables are read row by row. Vertical text on a page of level
text is read column by column from the right, which is row by row on the page turned by 270 degrees.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gateway.arrays import Quad
from gateway.ocr.columns import Boxes, mostly_vertical, split_columns
from gateway.ocr.page_frame import Corners, PageFrame, axes, turn

SAME_ROW_OVERLAP = 0.5
"""Lines share a row if they overlap by this much of the thinner one."""

THICK_RATIO = 2.0
"""Lines count as at most this many times as thick as their part's median, or one tall box would join many rows."""

VERTICAL_TURN = 270
"""Turned by this, vertical text runs from left to right, and its columns, from the right one on, are rows."""


@dataclass(frozen=True, slots=True)
class _Line:
    index: int
    left: float
    top: float
    bottom: float


@dataclass(slots=True)
class _Row:
    lines: list[_Line]
    top: float
    bottom: float

    def overlaps(self, line: _Line) -> bool:
        shared = min(self.bottom, line.bottom) - max(self.top, line.top)
        return shared >= SAME_ROW_OVERLAP * min(self.bottom - self.top, line.bottom - line.top)

    def add(self, line: _Line) -> None:
        """Take the line in; the row lies where its lines do on average."""
        self.lines.append(line)
        self.top += (line.top - self.top) / len(self.lines)
        self.bottom += (line.bottom - self.bottom) / len(self.lines)


def reading_order(quads: Sequence[Quad], turned: int = 0) -> list[int]:
    """Indices of `quads` in reading order.

    Args:
        quads: the lines; the order in which they come and the corner at which they start do not matter.
        turned: by how many degrees, clockwise, the page must be turned to be upright: 0, 90, 180 or 270.
    """
    if not quads:
        return []
    indices = np.lexsort(np.stack(quads).astype(np.float64).reshape(-1, 8).T)
    level = PageFrame.of(quads, turned).level([quads[index] for index in indices])
    across = turn_across(turned)
    return [int(indices[index]) for index in _order(level, across)]


def turn_across(turned: int) -> int:
    """By how many degrees to turn a page for what runs down on it once it is upright.

    A page that is turned by 270 may well be one of vertical text; then that is level text, and was upright before.
    """
    return 360 - VERTICAL_TURN if turned == VERTICAL_TURN else VERTICAL_TURN


def _order(corners: Corners, across: int) -> Iterator[int]:
    """Lines of a level page, part by part; what runs down is read on the page turned by `across`."""
    for part in split_columns(boxes_of(corners)):
        if mostly_vertical(boxes_of(corners[part])):
            yield from part[_order_level(turn(corners[part], across))]
        else:
            yield from part[_order_rows(corners[part])]


def _order_level(corners: Corners) -> list[int]:
    """Lines of a page that has no other way of running, part by part."""
    return [index for part in split_columns(boxes_of(corners)) for index in part[_order_rows(corners[part])].tolist()]


def _order_rows(corners: Corners) -> list[int]:
    """Lines of a part that is not to be split, row by row."""
    rows = _rows(_lines(corners))
    return [line.index for row in rows for line in sorted(row.lines, key=lambda line: line.left)]


def boxes_of(corners: Corners) -> Boxes:
    """The upright boxes around lines."""
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def _lines(corners: Corners) -> list[_Line]:
    """The lines of a level page, top to bottom by their middles."""
    _, down = axes(corners)
    thickness = np.hypot(*down.T)
    thickness = np.minimum(thickness, THICK_RATIO * np.median(thickness))
    left = corners[:, :, 0].min(axis=1)
    middle = corners[:, :, 1].mean(axis=1)
    top, bottom = middle - thickness / 2, middle + thickness / 2
    order = np.argsort(middle, kind="stable").tolist()
    return [_Line(line, float(left[line]), float(top[line]), float(bottom[line])) for line in order]


def _rows(lines: Sequence[_Line]) -> list[_Row]:
    rows: list[_Row] = []
    for line in lines:
        if rows and rows[-1].overlaps(line):
            rows[-1].add(line)
        else:
            rows.append(_Row([line], line.top, line.bottom))
    return rows
