"""Where the characters of a line stand: between the blankest columns that part their peaks, trimmed to their ink.

CTC says of a character only at which step it was written, and a step is as wide as half a letter. The pixels say the
rest: between two peaks there is a column where little is written, as near to the middle as its ink allows. A letter
whose own middle is thin ("H", most ideographs) is not cut there, because its peak stands next to it.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Crop
from gateway.ocr.ctc import PIXELS_PER_STEP
from gateway.ocr.elements import Character
from gateway.ocr.ink import BLANK_INK, Ink, column_ink

PEAK_COLUMN = 2.0
"""The column of a step over which the middle of its character stands. Measured on 800 drawn letters, Latin and Chinese:
2.0 on average and 1.7 in the median, give or take 3."""

OFF_MIDDLE = 1.0
"""What a border between two characters costs at one of their peaks rather than halfway, in the line's usual ink."""

REACH_LINE_HEIGHTS = 1
"""How far from its peak a character reaches at most, so that a stain behind a line is none of its parts."""

Columns = NDArray[np.float64]
"""First column of each character and the one after its last: (characters, 2)."""


def place_characters(crop: Crop, characters: Sequence[Character]) -> Columns:
    """The columns of `crop` that each of `characters` takes.

    Args:
        crop: the line as it was read, whole.
        characters: all that it says but spaces, left to right.
    """
    if not characters:
        return np.zeros((0, 2))
    ink = _relative_ink(crop)
    steps = np.array([character.step for character in characters])
    peaks = (PIXELS_PER_STEP * steps + PEAK_COLUMN).clip(0, len(ink) - 1)
    stretches = _stretches(ink, peaks, REACH_LINE_HEIGHTS * crop.shape[0])
    return np.array([_trimmed(ink, left, right) for left, right in stretches], np.float64)


def _relative_ink(crop: Crop) -> Ink:
    """The ink of each column, as a share of the line's usual one; columns with at most BLANK_INK are blank."""
    ink = column_ink(crop)
    lowest, usual = np.percentile(ink, (0, 90))
    relative: Ink = (ink - lowest) / max(usual - lowest, 1.0)  # a line without any is all alike
    return relative


def _stretches(ink: Ink, peaks: NDArray[np.float64], reach: int) -> list[tuple[int, int]]:
    """What lies between the borders of each character, within reach of its peak.

    A comma that touches the letter before it has that letter's last strokes for its own ink, and the blankest column
    lies behind it: where a stretch would be blank, its borders are halfway between the peaks instead.
    """
    halfway = [int(middle) for middle in (peaks[:-1] + peaks[1:]) / 2]
    blankest = [_border(ink, left, right) for left, right in pairwise(peaks.tolist())]
    blank = [bool((ink[left:right] <= BLANK_INK).all()) for left, right in _between(blankest, peaks, reach, len(ink))]
    borders = [
        middle if before or after else border
        for middle, border, (before, after) in zip(halfway, blankest, pairwise(blank), strict=True)
    ]
    return _between(borders, peaks, reach, len(ink))


def _between(borders: Sequence[int], peaks: NDArray[np.float64], reach: int, width: int) -> list[tuple[int, int]]:
    return [
        (max(left, int(peak) - reach), min(right, int(peak) + reach))
        for (left, right), peak in zip(pairwise([0, *borders, width]), peaks, strict=True)
    ]


def _border(ink: Ink, left: float, right: float) -> int:
    """The column between two peaks from which on the ink is the right one's."""
    columns = np.arange(int(left), min(int(right) + 2, len(ink)))
    beside = np.minimum(ink[np.maximum(columns - 1, 0)], ink[columns])
    off_middle = (columns - (left + right) / 2) / max(right - left, PIXELS_PER_STEP)
    return int(columns[np.argmin(beside + OFF_MIDDLE * off_middle**2)])


def _trimmed(ink: Ink, left: int, right: int) -> tuple[int, int]:
    """A stretch without the blank columns at its ends; all of it if it is blank, and at least one."""
    written = np.flatnonzero(ink[left:right] > BLANK_INK)
    if len(written) == 0:
        return left, max(right, left + 1)
    return left + int(written[0]), left + int(written[-1]) + 1
