"""Quads: four corners that run clockwise (y points down), starting at the top-left corner of the text.

Coordinates are continuous: (0, 0) is the outer corner of the first pixel, (width, height) that of the last, so a quad
with whole coordinates encloses whole pixels. OpenCV's warps count from pixel centres instead, half a pixel further.

All functions take one quad (4, 2) or any stack of them (..., 4, 2) and give the same stack back.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Quad

Quads: TypeAlias = NDArray[np.float32]
"""Any number of quads: (..., 4, 2)."""

# Two edges whose middles are this close, in pixels, lie equally far left: far below what a detector can tell apart,
# far above the noise of float32.
_SAME = 1e-2

_NEXT = [1, 2, 3, 0]
"""Of each corner, the one after it. A list of corners costs a fifth of `np.roll`, and pages have hundreds of lines."""

_TURNED = ([0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0])
"""The corners after so many quarter turns."""


def whole_quad(height: int, width: int) -> Quad:
    """The outline of an image of this size."""
    return np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)


def rectangle_quads(centers: NDArray[np.float32], sizes: NDArray[np.float32], degrees: NDArray[np.float32]) -> Quads:
    """Corners of rectangles in the terms of `cv2.minAreaRect`, clockwise, from an arbitrary first corner.

    Args:
        centers: (..., 2) of (x, y).
        sizes: (..., 2) of (width, height).
        degrees: (...), clockwise.
    """
    radians = np.deg2rad(degrees)
    cos, sin = np.cos(radians), np.sin(radians)
    right = np.stack([cos, sin], axis=-1) * sizes[..., :1] / 2
    down = np.stack([-sin, cos], axis=-1) * sizes[..., 1:] / 2
    corners = [-right - down, right - down, right + down, down - right]
    return (centers[..., None, :] + np.stack(corners, axis=-2)).astype(np.float32)


def order_corners(quads: Quads) -> Quads:
    """The same convex quads, clockwise from the top-left corner of the text.

    The left edge is the one whose middle lies furthest left (of two equals, as in a square on its tip, the upper one);
    the top-left corner is its end in clockwise order. So a square's text is taken to be turned by less than 45 degrees,
    while a line of l times its own height is read along its long side, to the right, up to a slope of l: 84 degrees
    for l = 10. What is steeper stands on its short side and is tall.
    """
    clockwise = np.where(_runs_clockwise(quads)[..., None, None], quads, quads[..., ::-1, :])
    middles = (clockwise + np.roll(clockwise, -1, axis=-2)) / 2  # of the edge from each corner to the next
    x, y = middles[..., 0], middles[..., 1]
    leftmost = x <= x.min(axis=-1, keepdims=True) + _SAME
    left_edge = np.where(leftmost, y, np.inf).argmin(axis=-1)
    order = (left_edge[..., None] + np.arange(1, 5)) % 4
    return np.take_along_axis(clockwise, order[..., None], axis=-2)


def _runs_clockwise(quads: Quads) -> NDArray[np.bool_]:
    """Whether corners run clockwise with y down: the shoelace sum, from the two diagonals, is positive."""
    first, second = quads[..., 2, :] - quads[..., 0, :], quads[..., 3, :] - quads[..., 1, :]
    positive: NDArray[np.bool_] = first[..., 0] * second[..., 1] >= first[..., 1] * second[..., 0]
    return positive


def quad_size(quads: Quads) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Width and height (...): the longer edge of each opposite pair."""
    edges = np.sqrt(np.square(quads[..., _NEXT, :] - quads).sum(axis=-1))
    return np.maximum(edges[..., 0], edges[..., 2]), np.maximum(edges[..., 1], edges[..., 3])


def grow_rectangle(quads: Quads, ratio: float) -> Quads:
    """Rectangles with each side moved outwards by area * ratio / perimeter.

    That is the offset by which DB (Liao et al. 2019, section 3.4) undoes the shrinking of its training targets. Its
    usual implementation offsets the polygon with round joins and takes the smallest rectangle around the result, which
    for a rectangle is this one. Rectangles without area stay as they are.
    """
    width, height = quad_size(quads)
    distance = width * height * ratio / np.maximum(2 * (width + height), np.finfo(np.float32).tiny)
    right = _unit(quads[..., 1, :] - quads[..., 0, :]) * distance[..., None]
    down = _unit(quads[..., 3, :] - quads[..., 0, :]) * distance[..., None]
    outwards = np.stack([-right - down, right - down, right + down, down - right], axis=-2)
    grown: Quads = (quads + outwards).astype(np.float32)
    return grown


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors (..., 2) of length one; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit


def turn_quad(quads: Quads, degrees: int) -> Quads:
    """The quads whose crops are these quads' crops, turned clockwise by a multiple of 90 degrees.

    The corners only change places, so the turn costs no second resampling.
    """
    turns = degrees // 90 % 4
    turned: Quads = quads[..., _TURNED[turns], :] if turns else quads
    return turned


def slice_quad(quad: Quad, fractions: NDArray[np.float64]) -> Quads:
    """Parts of `quad` along its text: (parts, 4, 2).

    Args:
        quad: of a line.
        fractions: where each part begins and ends, of the quad's width: (parts, 2).
    """
    top = quad[0] + fractions[..., None] * (quad[1] - quad[0])
    bottom = quad[3] + fractions[..., None] * (quad[2] - quad[3])
    parts: Quads = np.stack([top[:, 0], top[:, 1], bottom[:, 1], bottom[:, 0]], axis=1).astype(np.float32)
    return parts


def carry_over(fractions: NDArray[np.float64], source: Quad, target: Quad) -> NDArray[np.float64]:
    """Fractions of one quad's width as those of another around the same line, none outside it; the same shape back."""
    start, end = (source[[0, 1]] + source[[3, 2]]) / 2
    left, right = (target[[0, 1]] + target[[3, 2]]) / 2
    axis = (right - left).astype(np.float64)
    points = start + fractions[..., None] * (end - start) - left
    along: NDArray[np.float64] = (points @ axis) / max(float(axis @ axis), np.finfo(np.float32).tiny)
    return along.clip(0, 1)
