"""Pixels that are not square: a fax of standard resolution has 204 of them to the inch across, and 98 down."""

from gateway.arrays import Image
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.elements import PageWarning
from gateway.ocr.resizing import resize

_LEAST, _MOST = 1.2, 3.0
"""Ratios of resolution that are believed. Below, nobody sees it; above, it is more likely nonsense."""


def square_pixels(
    image: Image, resolution: tuple[float, float] | None, limits: DecodeLimits
) -> tuple[Image, tuple[PageWarning, ...]]:
    """The image with square pixels, enlarged where they are coarser, and what to say about that.

    Args:
        image: (height, width, 3).
        resolution: pixels to the inch, across and down; None if nobody knows.
        limits: an image that would be larger stays as it is.
    """
    across, down = resolution or (0.0, 0.0)
    if not (across > 0 and down > 0 and _LEAST <= max(across / down, down / across) <= _MOST):
        return image, ()
    height = round(image.shape[0] * max(1.0, across / down))
    width = round(image.shape[1] * max(1.0, down / across))
    if width * height > limits.max_pixels or max(width, height) > limits.max_side:
        return image, ()
    detail = f"the file has {across:g} x {down:g} pixels to the inch; it was stretched to {width} x {height} pixels"
    return resize(image, height, width), (PageWarning("stretched", detail),)
