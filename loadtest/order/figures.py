"""How well an order is kept: pure functions of where the lines are, in the order in which they were read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadtest.order.layouts import Block, Layout

SAME_ROW = 0.5
"""Lines of a block whose middles are this close, in heights of a line, stand in one row."""

Quads = npt.NDArray[np.float64]
"""(lines, 4, 2)"""


@dataclass(frozen=True, slots=True)
class Kept:
    """How much of the right order an order has.

    Attributes:
        lines: that have a place in the order.
        tau: Kendall's: 1 for the right order, 0 for one by chance, -1 for the reverse.
        neighbours: share of the lines that are followed by the right one.
    """

    lines: int
    tau: float
    neighbours: float


def kept(quads: Quads, size: tuple[int, int], layout: Layout) -> Kept:
    """How well lines stand in the order in which they are given; `size` is the image's (height, width)."""
    level = upright(quads, size, layout.turned)
    level[..., 1] -= layout.slope * (level[..., 0] - 0.5)
    return compare(ranks(level, layout.blocks))


def upright(quads: Quads, size: tuple[int, int], turned: int) -> Quads:
    """Corners on the page turned clockwise by `turned`, as fractions of its width and height."""
    fractions = quads / np.array(size[::-1])
    for _ in range(turned // 90):
        fractions = np.stack([1 - fractions[..., 1], fractions[..., 0]], axis=-1)
    return fractions


def ranks(quads: Quads, blocks: Sequence[Block]) -> list[int]:
    """The right place of each line that has one, in the order given."""
    middles = quads.mean(axis=1)
    height = float(np.median(np.ptp(quads[..., 1], axis=1)))
    order: list[int] = []
    for left, top, right, bottom in blocks:
        x, y = middles.T
        inside = np.flatnonzero((left <= x) & (x < right) & (top <= y) & (y < bottom))
        order += row_by_row(inside, middles, SAME_ROW * height)
    place = {line: rank for rank, line in enumerate(order)}
    return [place[line] for line in range(len(quads)) if line in place]


def row_by_row(lines: npt.NDArray[np.intp], middles: npt.NDArray[np.float64], same_row: float) -> list[int]:
    """These lines by row, and in a row from left to right."""
    rows: list[list[int]] = []
    for line in lines[np.argsort(middles[lines, 1], kind="stable")].tolist():
        if rows and middles[line, 1] - np.mean(middles[rows[-1], 1]) < same_row:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: float(middles[line, 0]))]


def compare(places: Sequence[int]) -> Kept:
    """From each line's right place, in the order in which they were read."""
    count = len(places)
    if count < 2:
        return Kept(count, 1.0, 1.0)
    given = np.array(places)
    later_is_higher = np.triu(given[None, :] > given[:, None], k=1).sum()
    pairs = count * (count - 1) / 2
    return Kept(count, float(2 * later_is_higher / pairs - 1), float(np.mean(np.diff(given) == 1)))


def top_to_bottom(quads: Quads) -> Quads:
    """What a plain sort makes of the lines: by their upper edge, then from the left."""
    return quads[np.lexsort((quads[..., 0].min(axis=1), quads[..., 1].min(axis=1)))]
