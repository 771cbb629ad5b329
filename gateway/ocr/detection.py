"""From an image to the detector's input: scaled, and padded where the detector wants more room.

The plan is made of numbers first: a frame around the image, no thinner than the detector reads well; the scale of that
frame; the tensor that holds it, its sides multiples of what the network divides by. Then the image is resampled once
and put on paper of its border's colour. The image is centred in the frame; what the tensor has beyond the frame lies
to the right and below, so that an image stands at the same place in every tensor that holds it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from gateway.arrays import Image
from gateway.ocr.elements import PageWarning
from gateway.ocr.geometry import Quads
from gateway.ocr.options import DetectionOptions
from gateway.ocr.resizing import resize

Shape = tuple[int, int]
"""(height, width)."""

# A line that fills its image from edge to edge is found only with some room around it.
_MIN_FRAME_SIDE = 96
_MAX_FRAME_RATIO = 8

# The limit on the longer side would make receipts and long screenshots illegible: their shorter side keeps this share
# of it. With the frame's ratio this still bounds the tensor, at 1.1 times the square of the limit.
_MIN_SHARE_OF_LIMIT = 0.368


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """The detector's input, and the way back.

    Attributes:
        tensor: uint8 (height, width, 3) in BGR, both sides multiples of the network's stride.
        image_shape: (height, width) of the image.
        offset: (x, y) of the image's corner in the tensor.
        scale: (x, y), image pixels per tensor pixel.
        warnings: what the detector can't see.
    """

    tensor: Image
    image_shape: Shape
    offset: tuple[int, int]
    scale: tuple[float, float]
    warnings: tuple[PageWarning, ...] = ()

    @property
    def scaled(self) -> float:
        """Size of what the detector sees, of the image's."""
        return 1 / max(self.scale)

    def to_image(self, quads: Quads) -> Quads:
        """Quads of the tensor in pixels of the image."""
        offset, scale = np.array(self.offset, np.float32), np.array(self.scale, np.float32)
        return np.asarray((quads - offset) * scale, np.float32)


def prepare_detection(
    image: Image, options: DetectionOptions, *, side_multiple: int = 32, shapes: Sequence[Shape] | None = None
) -> PreparedImage:
    """Scale and pad `image` for the detector.

    Args:
        image: (height, width, 3).
        options: `limit_side`, `min_side` and `max_upscale` choose the scale.
        side_multiple: what both sides of the tensor are multiples of.
        shapes: the closed set of tensors, smallest area first, if the served models take no others. The image goes
            into the first that holds it, scaled down if none does.
    """
    height, width = image.shape[:2]
    frame = _frame(height, width)
    scale = _choose_scale(frame, options)
    if shapes is None:
        tensor_shape = _round_up(_scaled(frame, scale), side_multiple)
    else:
        tensor_shape, scale = _fit(frame, scale, shapes)
    size = _scaled((height, width), scale)
    tensor, offset = _place(resize(image, *size), _scaled(frame, scale), tensor_shape, _border_color(image))
    return PreparedImage(
        tensor=tensor,
        image_shape=(height, width),
        offset=offset,
        scale=(width / size[1], height / size[0]),
        warnings=_downscaled((height, width), size),
    )


def _frame(height: int, width: int) -> Shape:
    """The image's shape, widened where it is thin."""
    return (
        max(height, _MIN_FRAME_SIDE, math.ceil(width / _MAX_FRAME_RATIO)),
        max(width, _MIN_FRAME_SIDE, math.ceil(height / _MAX_FRAME_RATIO)),
    )


def _choose_scale(frame: Shape, options: DetectionOptions) -> float:
    """Tensor pixels per image pixel: small images are enlarged, as far as the limits for large ones allow."""
    shorter, longer = sorted(frame)
    wanted = min(max(1.0, options.min_side / shorter), options.max_upscale)
    keep = min(options.min_side, _MIN_SHARE_OF_LIMIT * options.limit_side)
    return min(wanted, max(options.limit_side / longer, keep / shorter))


def _fit(frame: Shape, scale: float, shapes: Sequence[Shape]) -> tuple[Shape, float]:
    """The first shape that holds the scaled frame or, if none does, shows it largest; and the scale for that."""
    height, width = _scaled(frame, scale)
    for shape in shapes:
        if height <= shape[0] and width <= shape[1]:
            return shape, scale
    scales = [min(shape[0] / frame[0], shape[1] / frame[1]) for shape in shapes]
    largest = max(scales)
    return shapes[scales.index(largest)], largest


def _scaled(shape: Shape, scale: float) -> Shape:
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def _round_up(shape: Shape, multiple: int) -> Shape:
    return math.ceil(shape[0] / multiple) * multiple, math.ceil(shape[1] / multiple) * multiple


def _place(image: Image, frame: Shape, shape: Shape, color: tuple[int, int, int]) -> tuple[Image, tuple[int, int]]:
    """`image` in the middle of the frame, and the frame at the top left of a tensor; with the image's (x, y) in it."""
    height, width = image.shape[:2]
    top, left = (frame[0] - height) // 2, (frame[1] - width) // 2
    bottom, right = shape[0] - height - top, shape[1] - width - left
    tensor = cv2.copyMakeBorder(image, top, bottom, left, right, cv2.BORDER_CONSTANT, value=color)
    return np.asarray(tensor, np.uint8), (left, top)


def _border_color(image: Image) -> tuple[int, int, int]:
    """The median colour of the outermost pixels: usually paper."""
    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    blue, green, red = np.median(border, axis=0).astype(int).tolist()
    return blue, green, red


def _downscaled(image_shape: Shape, size: Shape) -> tuple[PageWarning, ...]:
    """A warning if the detector sees fewer pixels than there are: small print may be lost."""
    if size[0] >= image_shape[0] and size[1] >= image_shape[1]:
        return ()
    detail = f"lines were looked for at {size[1]} x {size[0]} pixels; the image has {image_shape[1]} x {image_shape[0]}"
    return (PageWarning("downscaled", detail),)
