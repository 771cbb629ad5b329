"""How much is written where in a crop.

A column's ink is the spread of its pixels, so dark on light, light on dark, and text above a rule are all alike.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Crop

Ink: TypeAlias = NDArray[np.float64]
"""How much is written in each column of a crop: (width,), in brightness."""

BLANK_INK = 0.2
"""Columns with at most this share of the line's usual ink are blank: noise and the edges of letters stay below."""


def column_ink(crop: Crop) -> Ink:
    """The standard deviation of each column's pixels, over the colours on average."""
    return np.asarray(crop.std(axis=0).mean(axis=1))


def blank_level(ink: Ink) -> float:
    """The ink up to which a column is blank."""
    lowest, usual = np.percentile(ink, (0, 90))
    return float(lowest + BLANK_INK * (usual - lowest))
