"""The parts of a page that are read one after the other: columns of running text, and what stands above and below them.

A recursive XY cut (Nagy and Seth 1984) over the boxes of lines, with two rules of its own:

* Bands of lines, top to bottom, are gathered into a section for as long as the white between its columns goes on, so a
  headline across the page ends one section, and the columns below it make another.
* White alone does not part columns, or every table would fall apart. It does where text runs on both sides: some lines
  on each, wide for their height, most of which reach across their side. Columns of vertical text stand apart from level
  text, whatever their number.

What is not parted is one part, to be read row by row.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Boxes: TypeAlias = NDArray[np.float64]
"""Left, top, right and bottom of lines on a level page: (lines, 4)."""

Indices: TypeAlias = NDArray[np.intp]
"""Which of the lines: (n,)."""

Gap: TypeAlias = tuple[float, float]
"""Left and right end of what is white from the top of a section to its bottom."""

CORE = 0.7
"""How much of a line's thickness counts where lines are parted into bands: neighbouring boxes overlap a little."""

MIN_GAP = 0.5
"""The least white between columns, in heights of a line."""

MIN_LINES = 3
"""A column has at least so many lines, ..."""

MIN_WIDTH = 12.0
"""... is at least so many times as wide as a line is high, ..."""

REACH = 0.5
"""... and at least half of its text, by length, stands in lines that reach across this much of it."""

VERTICAL_RATIO = 3.0
"""A line at least this many times as high as wide runs down."""


def split_columns(boxes: Boxes) -> list[Indices]:
    """The parts of a page in the order in which they are read; each line is in exactly one."""
    parts: list[list[Indices]] = []
    grows_by: bool | None = None  # whether what the last part may grow by is vertical
    for section in _sections(boxes):
        columns = _columns(boxes[section])
        if len(columns) > 1:
            nested = ((section[column], split_columns(boxes[section[column]])) for column in columns)
            parts += [[column[part]] for column, parts_of_column in nested for part in parts_of_column]
            grows_by = None
        elif (vertical := mostly_vertical(boxes[section])) == grows_by:
            parts[-1].append(section)
        else:
            parts.append([section])
            grows_by = vertical
    return [np.concatenate(part) for part in parts]


def is_vertical(boxes: Boxes) -> NDArray[np.bool_]:
    """Which lines run down: (lines,)."""
    width, height = _sizes(boxes)
    vertical: NDArray[np.bool_] = height >= VERTICAL_RATIO * width
    return vertical


def mostly_vertical(boxes: Boxes) -> bool:
    """Whether more than half of the text, by length, runs down."""
    length = np.maximum(*_sizes(boxes))
    return bool(2 * length[is_vertical(boxes)].sum() > length.sum())


def _sections(boxes: Boxes) -> list[Indices]:
    """The lines of sections, top to bottom."""
    sections: list[list[Indices]] = []
    gaps: list[Gap] = []
    for band in _bands(boxes):
        gaps = _gaps_with(boxes, sections[-1], gaps, band) if sections else []
        if gaps:
            sections[-1].append(band)
        else:
            heading = _heading(boxes, sections[-1], band) if sections else []
            sections.append([*heading, band])
            if heading:
                sections[-2].pop()
    return [np.concatenate(section) for section in sections]


def _heading(boxes: Boxes, section: Sequence[Indices], band: Indices) -> list[Indices]:
    """The last band of a section, if it is nearer to the band below: a heading, which goes with what follows it."""
    if len(section) == 1:
        return []
    before, last = boxes[section[-2]], boxes[section[-1]]
    above = last[:, 1].min() - before[:, 3].max()
    below = boxes[band, 1].min() - last[:, 3].max()
    return [section[-1]] if below < above else []


def _bands(boxes: Boxes) -> list[Indices]:
    """The lines between which there is white across the whole page, top to bottom."""
    margin = (1 - CORE) / 2 * np.minimum(*_sizes(boxes))
    return _clusters(boxes[:, 1] + margin, boxes[:, 3] - margin, gap=0.0)


def _gaps_with(boxes: Boxes, section: Sequence[Indices], gaps: Sequence[Gap], band: Indices) -> list[Gap]:
    """The white in a section that grows by a band; none if it may not grow.

    It may if columns remain possible, and each gutter that the section or the band has remains white. A band of a few
    lines that leaves all white as it was changes neither; nearly all do, and to look at all lines each time is slow.
    """
    if gaps and len(band) < 2 * MIN_LINES and not _touches(boxes[band], gaps):
        return [*gaps]
    lines = np.concatenate(section)
    both = boxes[np.concatenate([lines, band])]
    strips = _strips(both)
    if not any(_may_part(both[one], both[other]) for one, other in pairwise(strips)):
        return []
    gutters = (*_gutters(boxes[lines]), *_gutters(boxes[band]))
    return _gaps(both, strips) if all(_has_white(both, strips, gutter) for gutter in gutters) else []


def _touches(lines: Boxes, gaps: Sequence[Gap]) -> bool:
    """Whether a line reaches into white."""
    starts, ends = np.array(gaps).T
    return bool(np.any((lines[:, :1] < ends) & (lines[:, 2:3] > starts)))


def _has_white(boxes: Boxes, strips: Sequence[Indices], gutter: Gap) -> bool:
    """Whether some of a gutter lies between strips."""
    return any(min(end, gutter[1]) > max(start, gutter[0]) for start, end in _gaps(boxes, strips))


def _gaps(boxes: Boxes, strips: Sequence[Indices]) -> list[Gap]:
    """The white between strips."""
    return [(float(boxes[one, 2].max()), float(boxes[other, 0].min())) for one, other in pairwise(strips)]


def _gutters(boxes: Boxes) -> list[Gap]:
    """The white between columns."""
    return _gaps(boxes, _columns(boxes))


def _columns(boxes: Boxes) -> list[Indices]:
    """The columns of a section, left to right; one if it has none."""
    strips = _strips(boxes)
    columns = strips[:1]
    for before, strip in pairwise(strips):
        if _part(boxes[before], boxes[strip]):
            columns.append(strip)
        else:
            columns[-1] = np.concatenate([columns[-1], strip])
    return columns


def _strips(boxes: Boxes) -> list[Indices]:
    """The lines between which there is white from top to bottom, left to right."""
    return _clusters(boxes[:, 0], boxes[:, 2], gap=MIN_GAP * _line_height(boxes))


def _part(left: Boxes, right: Boxes) -> bool:
    """Whether the white between two strips parts columns."""
    return _may_part(left, right) and all(mostly_vertical(strip) or _is_running(strip) for strip in (left, right))


def _may_part(left: Boxes, right: Boxes) -> bool:
    """Whether it would if there were more lines: level text is wide enough, or stands beside vertical text."""
    vertical = mostly_vertical(left) + mostly_vertical(right)
    return vertical == 1 or (vertical == 0 and _is_wide(left) and _is_wide(right))


def _is_wide(strip: Boxes) -> bool:
    """Whether a strip is as wide as a column of text."""
    return bool(strip[:, 2].max() - strip[:, 0].min() >= MIN_WIDTH * _line_height(strip))


def _is_running(strip: Boxes) -> bool:
    """Whether a strip has as many and as long lines as a column of text."""
    lengths, _ = _sizes(strip)
    width = strip[:, 2].max() - strip[:, 0].min()
    return len(strip) >= MIN_LINES and bool(2 * lengths[lengths >= REACH * width].sum() >= lengths.sum())


def _line_height(boxes: Boxes) -> float:
    """The median thickness of lines; by hand, for NumPy's takes five times as long for so few."""
    ascending = np.sort(np.minimum(*_sizes(boxes)))
    return float(ascending[(len(boxes) - 1) // 2] + ascending[len(boxes) // 2]) / 2


def _sizes(boxes: Boxes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Width and height: (lines,) each."""
    return boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]


def _clusters(starts: NDArray[np.float64], ends: NDArray[np.float64], *, gap: float) -> list[Indices]:
    """Intervals that overlap, directly or by way of others, or lie no further apart than `gap`, in ascending order."""
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    breaks = np.flatnonzero(starts[order][1:] > reached[:-1] + gap) + 1
    return [order[first:last] for first, last in pairwise([0, *breaks.tolist(), len(order)])]
