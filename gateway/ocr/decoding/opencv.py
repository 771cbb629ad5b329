"""OpenCV's part: plain pictures of the most frequent types, and colours of 16 bits.

The first it decodes to Pillow's pixels in two thirds of Pillow's time; the others Pillow cuts to 8 bits. What OpenCV
can't decode it gives as None, without a reason; Pillow is asked then.
"""

import cv2
import numpy as np

from gateway.ocr.decoding.depth import depth_warnings, from_16_bits
from gateway.ocr.decoding.formats import FileType, identify
from gateway.ocr.decoding.picture import Raw
from gateway.ocr.decoding.png import is_cut_off

_AS_STORED = cv2.IMREAD_IGNORE_ORIENTATION


def decode_plain(data: bytes) -> Raw | None:
    """A picture with 8 bits of grey, or of each colour. Grey is asked for as grey: lossless JPEGs know nothing else."""
    pixels = _decode(data, cv2.IMREAD_ANYCOLOR)
    if pixels is None:
        return None
    return Raw(np.asarray(pixels if pixels.ndim == 3 else cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR), np.uint8))


def decode_deep(data: bytes) -> Raw | None:
    """A picture with 16 bits of each colour."""
    samples = _decode(data, cv2.IMREAD_UNCHANGED)
    if samples is None or samples.dtype != np.uint16 or samples.ndim != 3 or samples.shape[2] != 3:
        return None
    deep = samples.astype(np.uint16, copy=False)
    return Raw(from_16_bits(deep), warnings=depth_warnings(deep))


def _decode(data: bytes, flags: int) -> cv2.typing.MatLike | None:
    """What OpenCV makes of it. For a chunk that is not there it would make room first, up to 4 GB."""
    if identify(data) is FileType.PNG and is_cut_off(data):
        return None
    return cv2.imdecode(np.frombuffer(data, np.uint8), flags | _AS_STORED)
