"""From a probability map to text regions: DB's post-processing as PP-OCR does it, on whole arrays where that pays.

The map shows the kernels of the lines: regions that were shrunken in training, so that neighbours stay apart. Each is
binarized, enclosed in the smallest rectangle, scored, and grown back (Liao et al., "Real-time Scene Text Detection
with Differentiable Binarization", 2019, section 3.4).
"""

import math
from dataclasses import dataclass
from itertools import compress

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.arrays import ProbabilityMap
from gateway.ocr.detection import PreparedImage
from gateway.ocr.elements import PageWarning, TextRegion
from gateway.ocr.geometry import Quads, grow_rectangle, order_corners, rectangle_quads
from gateway.ocr.options import DetectionOptions

# Kernels thinner than this, in pixels of the map, are noise.
_MIN_KERNEL_SIDE = 3.0


@dataclass(frozen=True, slots=True)
class FoundRegions:
    """What the detector found.

    Attributes:
        regions: from top to bottom, by their top left corners.
        warnings: what was cut.
    """

    regions: tuple[TextRegion, ...]
    warnings: tuple[PageWarning, ...] = ()


def find_text_regions(
    probability_map: ProbabilityMap, prepared: PreparedImage, options: DetectionOptions
) -> FoundRegions:
    """Text regions in pixels of the image.

    Reported quads are cut at the image's edges. Quads to crop are not: they may reach outside, where the border's
    pixels go on.

    Args:
        probability_map: (height, width) of `prepared.tensor`.
        prepared: what the map was made from.
        options: thresholds, unclip ratios and the limit on regions.
    """
    kernels = order_corners(_kernel_rectangles(binarize(probability_map, options.binarize_threshold)))
    scores = score_quads(probability_map, kernels)
    kept = (scores >= options.box_threshold) & _are_in_image(kernels, prepared)
    kernels, scores, warnings = _strongest(kernels[kept], scores[kept], options.max_regions)
    height, width = prepared.image_shape
    crop_quads = prepared.to_image(grow_rectangle(kernels, options.crop_unclip_ratio))
    quads = prepared.to_image(grow_rectangle(kernels, options.unclip_ratio))
    quads = quads.clip(0, np.array([width, height], np.float32))
    regions = [
        TextRegion(quads[index], crop_quads[index], float(scores[index])) for index in _from_top_to_bottom(quads)
    ]
    return FoundRegions(tuple(regions), warnings)


def binarize(probability_map: ProbabilityMap, threshold: float) -> NDArray[np.uint8]:
    """1 where the probability reaches the threshold, and one pixel further to the right and below.

    That pixel joins strokes that the threshold has parted. It also makes the whole coordinates of a contour, which
    runs through the centres of the outermost pixels, the outer edges of the kernel (see `geometry`).
    """
    _, mask = cv2.threshold(probability_map, math.ceil(255 * threshold) - 1, 1, cv2.THRESH_BINARY)
    return np.asarray(cv2.dilate(mask, np.ones((2, 2), np.uint8)), np.uint8)


def _kernel_rectangles(mask: NDArray[np.uint8]) -> Quads:
    """The smallest rectangle around each connected component: (kernels, 4, 2), clockwise from an arbitrary corner."""
    contours, hierarchy = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if not contours:
        return np.zeros((0, 4, 2), np.float32)
    is_outer = hierarchy[0, :, 3] < 0  # holes have a parent
    outlines = map(cv2.minAreaRect, compress(contours, is_outer))
    rectangles = np.array([(*center, *size, degrees) for center, size, degrees in outlines], np.float32)
    thick = rectangles[rectangles[:, 2:4].min(axis=1) >= _MIN_KERNEL_SIDE]
    return rectangle_quads(thick[:, :2], thick[:, 2:4], thick[:, 4])


def score_quads(probability_map: ProbabilityMap, quads: Quads) -> NDArray[np.float32]:
    """Mean probability within each quad (n, 4, 2), its corners cut to whole pixels: (n,), 0 to 1."""
    height, width = probability_map.shape
    corners = np.floor(quads).astype(np.int32)
    low = corners.min(axis=1).clip(0, (width - 1, height - 1))
    high = corners.max(axis=1).clip(0, (width - 1, height - 1)) + 1
    means = [
        _masked_mean(probability_map[top:bottom, left:right], outline)
        for (left, top), (right, bottom), outline in zip(low, high, corners - low[:, None], strict=True)
    ]
    return np.array(means, np.float32) / np.float32(255)


def _masked_mean(window: ProbabilityMap, outline: NDArray[np.int32]) -> float:
    mask = np.zeros(window.shape, np.uint8)
    cv2.fillConvexPoly(mask, outline, 1)
    return cv2.mean(window, mask)[0]


def _are_in_image(kernels: Quads, prepared: PreparedImage) -> NDArray[np.bool_]:
    """Whether the middles of kernels lie in the image, not in the padding."""
    middles = prepared.to_image(kernels).mean(axis=1)
    height, width = prepared.image_shape
    inside: NDArray[np.bool_] = ((middles >= 0) & (middles <= (width, height))).all(axis=1)
    return inside


def _strongest(
    kernels: Quads, scores: NDArray[np.float32], most: int
) -> tuple[Quads, NDArray[np.float32], tuple[PageWarning, ...]]:
    """At most `most` kernels, those with the highest scores, and what to say of the rest."""
    if len(kernels) <= most:
        return kernels, scores, ()
    kept = np.argsort(-scores, kind="stable")[:most]
    detail = f"{len(kernels)} text regions were found; the {most} with the highest scores were kept"
    return kernels[kept], scores[kept], (PageWarning("regions_cut", detail),)


def _from_top_to_bottom(quads: Quads) -> NDArray[np.intp]:
    """Indices by the top left corner's y, then x."""
    return np.lexsort((quads[:, 0, 0], quads[:, 0, 1]))
