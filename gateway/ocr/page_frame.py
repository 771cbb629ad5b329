"""The frame in which a page's text is upright and level.

The page is turned as its lines were, then the skew, a median over the lines' own angles, is taken out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Quad

LONG_RATIO = 2.0
"""Lines at least this many times as long as thick tell the skew; shorter ones have no clear direction."""

QUARTER_TURN = np.array([[0, -1], [1, 0]], np.float64)
"""Clockwise, where y points down."""

Corners = NDArray[np.float64]
"""(lines, 4, 2)"""

Vectors = NDArray[np.float64]
"""(lines, 2)"""


def level_corners(quads: Sequence[Quad], turned: int) -> Corners:
    """Corners of at least one line on the page as it is once it is upright and level.

    Args:
        quads: the lines; the corner at which they start does not matter.
        turned: by how many degrees, clockwise, the page must be turned to be upright: 0, 90, 180 or 270.
    """
    upright = turn(np.stack(quads).astype(np.float64), turned)
    skew = np.deg2rad(skew_of(upright))
    cos, sin = np.cos(skew), np.sin(skew)
    level: Corners = upright @ np.array([[cos, -sin], [sin, cos]])
    return level


def turn(corners: Corners, degrees: int) -> Corners:
    """The corners on a page that is turned clockwise by a multiple of 90 degrees."""
    turned: Corners = corners @ np.linalg.matrix_power(QUARTER_TURN, degrees // 90).T
    return turned


def page_skew(quads: Sequence[Quad], turned: int) -> float:
    """How many degrees, clockwise, the text of a page runs off level once the page is turned; 0 if no line tells."""
    return skew_of(turn(np.stack(quads).astype(np.float64), turned)) if quads else 0.0


def skew_of(corners: Corners) -> float:
    """The text's angle in degrees, clockwise: the median of the long lines, weighted by length; 0 if none is long."""
    level, down = axes(corners)
    sides = np.hypot(*level.T), np.hypot(*down.T)
    lengths = np.max(sides, axis=0)
    is_long = (lengths > 0) & (lengths >= LONG_RATIO * np.min(sides, axis=0))
    if not is_long.any():
        return 0.0
    angles, lengths = np.arctan2(level[is_long, 1], level[is_long, 0]), lengths[is_long]
    order = np.lexsort((lengths, angles))
    weights = np.cumsum(lengths[order])
    return float(np.rad2deg(angles[order][np.searchsorted(weights, weights[-1] / 2)]))


def axes(corners: Corners) -> tuple[Vectors, Vectors]:
    """Each line's two axes, as long as its sides: the one nearer to level, pointing right, and the other."""
    first, second, third, fourth = np.moveaxis(corners, 1, 0)
    one, other = (second - first + third - fourth) / 2, (third - second + fourth - first) / 2
    one_is_level = np.abs(one[:, 0] * other[:, 1]) >= np.abs(one[:, 1] * other[:, 0])
    level = np.where(one_is_level[:, None], one, other)
    down = np.where(one_is_level[:, None], other, one)
    return np.where(level[:, :1] < 0, -level, level), down
