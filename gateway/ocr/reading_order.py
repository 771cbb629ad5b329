"""Reading order: lines to rows by their vertical overlap, rows top to bottom, lines of a row left to right.

Everything is measured in the frame in which the text is upright and level: the page is turned as its lines were,
then the skew, a median over the lines' own angles, is taken out. Columns of text are not told apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Quad

LONG_RATIO = 2.0
"""Lines at least this many times as long as thick tell the skew; shorter ones have no clear direction."""

SAME_ROW_OVERLAP = 0.5
"""Lines share a row if they overlap by this much of the thinner one."""

THICK_RATIO = 2.0
"""Lines count as at most this many times as thick as the page's median, or one tall box would join many rows."""

QUARTER_TURN = np.array([[0, -1], [1, 0]], np.float64)
"""Clockwise, where y points down."""

Corners = NDArray[np.float64]
"""(lines, 4, 2)"""

Vectors = NDArray[np.float64]
"""(lines, 2)"""


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
    corners = np.stack(quads).astype(np.float64)
    indices = np.lexsort(corners.reshape(-1, 8).T)
    upright = corners[indices] @ np.linalg.matrix_power(QUARTER_TURN, turned // 90).T
    rows = _rows(_lines(_level(upright), indices.tolist()))
    return [line.index for row in rows for line in sorted(row.lines, key=lambda line: line.left)]


def _lines(corners: Corners, indices: list[int]) -> list[_Line]:
    """The lines of a level page, top to bottom by their middles."""
    _, down = _axes(corners)
    thickness = np.hypot(*down.T)
    thickness = np.minimum(thickness, THICK_RATIO * np.median(thickness))
    left = corners[:, :, 0].min(axis=1)
    middle = corners[:, :, 1].mean(axis=1)
    top, bottom = middle - thickness / 2, middle + thickness / 2
    order = np.argsort(middle, kind="stable").tolist()
    return [_Line(indices[line], float(left[line]), float(top[line]), float(bottom[line])) for line in order]


def _rows(lines: Sequence[_Line]) -> list[_Row]:
    rows: list[_Row] = []
    for line in lines:
        if rows and rows[-1].overlaps(line):
            rows[-1].add(line)
        else:
            rows.append(_Row([line], line.top, line.bottom))
    return rows


def _level(corners: Corners) -> Corners:
    """The page without its skew."""
    skew = _skew(*_axes(corners))
    cos, sin = np.cos(skew), np.sin(skew)
    level: Corners = corners @ np.array([[cos, -sin], [sin, cos]])
    return level


def _axes(corners: Corners) -> tuple[Vectors, Vectors]:
    """Each line's two axes, as long as its sides: the one nearer to level, pointing right, and the other."""
    first, second, third, fourth = np.moveaxis(corners, 1, 0)
    one, other = (second - first + third - fourth) / 2, (third - second + fourth - first) / 2
    one_is_level = np.abs(one[:, 0] * other[:, 1]) >= np.abs(one[:, 1] * other[:, 0])
    level = np.where(one_is_level[:, None], one, other)
    down = np.where(one_is_level[:, None], other, one)
    return np.where(level[:, :1] < 0, -level, level), down


def _skew(level: Vectors, down: Vectors) -> float:
    """The text's angle in radians, clockwise: the median of the long lines, weighted by length; 0 if none is long."""
    lengths = np.hypot(*level.T)
    is_long = lengths >= LONG_RATIO * np.hypot(*down.T)
    if not is_long.any():
        return 0.0
    angles, lengths = np.arctan2(level[is_long, 1], level[is_long, 0]), lengths[is_long]
    order = np.lexsort((lengths, angles))
    weights = np.cumsum(lengths[order])
    return float(angles[order][np.searchsorted(weights, weights[-1] / 2)])
