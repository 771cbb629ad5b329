"""From a quad to the upright line that the recogniser reads.

The quad is not rounded. It is first warped to its own size with cubic interpolation, which keeps strokes sharp, and
then resampled to the line height; a quad that reaches outside the image sees the border's pixels go on. No margin is
added: the recogniser was trained on such crops, and every margin tried cost accuracy.

Lines of a page without colours are cut from one of its three equal planes: OpenCV treats each channel for itself, so
the crops are the same, for half of the time.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Crop, Image, Plane, Quad
from gateway.ocr.geometry import Quads, quad_size, whole_quad
from gateway.ocr.resizing import resize

# A quad higher than this many line heights is cut from an image shrunken by area: sharpness beyond it is lost anyway,
# and the crop's own size stays bounded.
_MAX_OVERSAMPLING = 4

# The widest line, in line heights. No script sets this many characters in a row; a wider quad is squeezed.
_MAX_ASPECT = 500

# So many rows of a page at a time are searched for colours: they stay in the processor's cache, and few are enough for
# most pages that have some.
_BAND = 64


def plane_if_grey(image: Image) -> Image | Plane:
    """One plane of a page without colours; any other page as it is."""
    is_grey = all(_is_grey(image[top : top + _BAND]) for top in range(0, len(image), _BAND))
    return _plane(image) if is_grey else image


def crop_line(image: Image | Plane, quad: Quad, *, line_height: int) -> Crop:
    """The inside of `quad`, upright, as high as a line, in colour.

    To read it turned, turn the quad (`geometry.turn_quad`): a crop has lost what its other direction needs.
    """
    return crop_lines(image, [quad], line_height=line_height)[0]


def crop_lines(image: Image | Plane, quads: Sequence[Quad], *, line_height: int) -> list[Crop]:
    """As `crop_line` for each of the quads, whose sizes are computed at once."""
    if not quads:
        return []
    stacked = np.stack(quads)
    heights = quad_size(stacked)[1].tolist()
    widths = crop_widths(stacked, line_height=line_height).tolist()
    return [
        _crop(image, quad, height, (line_height, width))
        for quad, height, width in zip(quads, heights, widths, strict=True)
    ]


def crop_widths(quads: Quads, *, line_height: int) -> NDArray[np.int_]:
    """How wide the crops of these quads (..., 4, 2) are, pixels (...)."""
    width, height = quad_size(quads)
    aspect = np.minimum(width.astype(np.float64) / np.maximum(height, 1.0), _MAX_ASPECT)
    widths: NDArray[np.int_] = np.rint(aspect * line_height).astype(int).clip(1)
    return widths


def _crop(image: Image | Plane, quad: Quad, height: float, shape: tuple[int, int]) -> Crop:
    """The inside of a quad of this height, resampled to a (height, width)."""
    highest = _MAX_OVERSAMPLING * shape[0]
    if height > highest:
        image, quad = _shrink_around(image, quad, highest / height)
    line = resize(_warp(image, quad), *shape)
    return line if line.ndim == 3 else _in_colour(line)


def _is_grey(image: Image) -> bool:
    return cv2.norm(_in_colour(_plane(image)), image, cv2.NORM_INF) == 0


def _plane(image: Image) -> Plane:
    return np.asarray(cv2.extractChannel(image, 0), np.uint8)


def _in_colour(plane: Plane) -> Image:
    return np.asarray(cv2.cvtColor(plane, cv2.COLOR_GRAY2BGR), np.uint8)


def _shrink_around(image: Image | Plane, quad: Quad, factor: float) -> tuple[Image | Plane, Quad]:
    """The part of the image that `quad` touches, scaled by `factor`, and the quad in it."""
    image_size = np.array(image.shape[1::-1])
    low = np.floor(quad.min(axis=0)).astype(int).clip(0, image_size - 1)
    high = np.ceil(quad.max(axis=0)).astype(int).clip(low + 1, image_size)
    window = image[low[1] : high[1], low[0] : high[0]]
    width, height = np.rint((high - low) * factor).astype(int).clip(1)
    scale = (width, height) / (high - low)
    return resize(window, int(height), int(width)), ((quad - low) * scale).astype(np.float32)


def _warp(image: Image | Plane, quad: Quad) -> Image | Plane:
    """The inside of `quad` at its own size, in whole pixels."""
    width, height = (max(1, round(float(side))) for side in quad_size(quad))
    # OpenCV's coordinates start in the middle of the first pixel, a quad's at its outer corner.
    matrix = cv2.getPerspectiveTransform(quad - np.float32(0.5), whole_quad(height, width) - np.float32(0.5))
    warped = cv2.warpPerspective(image, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, np.uint8)
