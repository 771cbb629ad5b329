"""The one way in which images change their size."""

import cv2
import numpy as np

from gateway.arrays import Image, Plane


def resize(image: Image | Plane, height: int, width: int) -> Image | Plane:
    """Resample to (height, width): linear, and by area where linear, which sees two neighbours, would skip pixels."""
    shrink = max(image.shape[0] / height, image.shape[1] / width)
    interpolation = cv2.INTER_AREA if shrink > 2 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (width, height), interpolation=interpolation), np.uint8)
