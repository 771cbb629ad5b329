"""The frame in which a page's text is upright and level.

The page is turned as its lines were, then the skew, a median over the lines' own angles, is taken out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

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


@dataclass(frozen=True, slots=True)
class PageFrame:
    """How a page's text stands.

    Attributes:
        turned: by how many degrees, clockwise, the page must be turned to be upright: 0, 90, 180 or 270.
        skew: by how many degrees, clockwise, its text runs off level once the page is turned.
    """

    turned: int = 0
    skew: float = 0.0

    @classmethod
    def of(cls, quads: Sequence[Quad], turned: int) -> Self:
        """The frame of these lines; the corner at which they start does not matter."""
        return cls(turned, skew_of(turn(stacked(quads), turned)) if quads else 0.0)

    def level(self, quads: Sequence[Quad]) -> Corners:
        """Corners of at least one line on the page as it is once it is upright and level."""
        return turn(stacked(quads), self.turned) @ self._rotation()

    def back(self, corners: Corners) -> Corners:
        """Corners on the level page as corners in the image."""
        return turn(corners @ self._rotation().T, 360 - self.turned)

    def _rotation(self) -> NDArray[np.float64]:
        radians = np.deg2rad(self.skew)
        cos, sin = np.cos(radians), np.sin(radians)
        return np.array([[cos, -sin], [sin, cos]])


def stacked(quads: Sequence[Quad]) -> Corners:
    """Quads as one array."""
    return np.stack(quads).astype(np.float64)


def turn(corners: Corners, degrees: int) -> Corners:
    """The corners on a page that is turned clockwise by a multiple of 90 degrees."""
    turned: Corners = corners @ np.linalg.matrix_power(QUARTER_TURN, degrees // 90 % 4).T
    return turned


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
