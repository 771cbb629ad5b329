"""Samples of more than 8 bits, brought to 8 by the range that is used.

Cameras and scanners of 10, 12 or 14 bits store their values in 16, mostly as they are. Divided by 256 such a page is
as good as black, and clipped at 255 any page is white. So the highest value tells how many bits are used.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Image
from gateway.ocr.elements import PageWarning

_DEPTHS = (8, 10, 12, 14)
"""Of sensors; whatever is not below the last of them has 16."""


def used_bits(samples: NDArray[np.uint16]) -> int:
    """The bits that the samples seem to have."""
    highest = int(samples.max())
    return next((bits for bits in _DEPTHS if 0 < highest < 1 << bits), 16)


def from_16_bits(samples: NDArray[np.uint16]) -> Image:
    """Grey (height, width) or BGR samples as BGR (height, width, 3)."""
    bits = used_bits(samples)
    return _to_bgr((samples >> (bits - 8)).astype(np.uint8))


def from_any_range(samples: NDArray[np.number]) -> Image:
    """Grey 32-bit integers and floats have no agreed range: the darkest becomes black, the brightest white."""
    values = np.nan_to_num(np.asarray(samples, np.float32))
    low, high = float(values.min()), float(values.max())
    return _to_bgr(((values - low) * (255 / max(high - low, 1e-12))).astype(np.uint8))


def depth_warnings(samples: NDArray[np.uint16]) -> tuple[PageWarning, ...]:
    """What to say of samples that were not taken for what they are stored as."""
    bits = used_bits(samples)
    if bits == 16:
        return ()
    detail = f"the 16-bit samples go up to {int(samples.max())} only; they were taken for {bits}-bit samples"
    return (PageWarning("depth_guessed", detail),)


def _to_bgr(samples: NDArray[np.uint8]) -> Image:
    return samples if samples.ndim == 3 else np.asarray(cv2.cvtColor(samples, cv2.COLOR_GRAY2BGR), np.uint8)
