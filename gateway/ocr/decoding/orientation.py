"""The turns that make a picture upright, by the orientation in its metadata; applied here, once, for every type."""

from collections.abc import Callable

import cv2
import numpy as np
from cv2.typing import MatLike

from gateway.arrays import Image

UPRIGHT = 1


def turn_upright(pixels: Image, orientation: int) -> Image:
    """The pixels as a person sees them.

    Args:
        pixels: (height, width, 3), as they are stored.
        orientation: 1 to 8 (EXIF 2.32, tag 0x0112); whatever else a damaged file says means upright.
    """
    return np.asarray(_TURNS.get(orientation, _TURNS[UPRIGHT])(pixels), np.uint8)


def is_turned(orientation: int) -> bool:
    """Whether an upright picture differs from the stored one."""
    return orientation in _TURNS and orientation != UPRIGHT


_TURNS: dict[int, Callable[[Image], MatLike]] = {
    1: lambda pixels: pixels,
    2: lambda pixels: cv2.flip(pixels, 1),
    3: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_180),
    4: lambda pixels: cv2.flip(pixels, 0),
    5: cv2.transpose,
    6: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_90_CLOCKWISE),
    7: lambda pixels: cv2.flip(cv2.transpose(pixels), -1),
    8: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_90_COUNTERCLOCKWISE),
}
