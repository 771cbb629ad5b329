"""Text that a file itself has, beside what is found in its picture."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gateway.ocr.elements import LayerLine, TextLine, TextRegion, Transcription
from gateway.ocr.geometry import Quads
from gateway.ocr.reading_order import reading_order

_COVERED = 0.5
"""Share of a region that must be covered by the layer's text for the region to be that text."""


def with_layer(lines: tuple[TextLine, ...], layer: Sequence[LayerLine]) -> tuple[TextLine, ...]:
    """The lines that were read, and those of the layer, in reading order; the latter are certain, and upright."""
    if not layer:
        return lines
    both = (*lines, *map(_line, layer))
    return tuple(both[index] for index in reading_order([line.region.quad for line in both]))


def uncovered(regions: Sequence[TextRegion], layer: Sequence[LayerLine]) -> tuple[TextRegion, ...]:
    """The regions where the layer says nothing, or little."""
    if not regions or not layer:
        return tuple(regions)
    boxes = np.array([line.box for line in layer], np.float64)
    found = _boxes(np.array([region.quad for region in regions]))
    covered = _covered_area(found, boxes)
    area = (found[:, 2] - found[:, 0]) * (found[:, 3] - found[:, 1])
    return tuple(region for region, over, whole in zip(regions, covered, area, strict=True) if over < _COVERED * whole)


def _line(line: LayerLine) -> TextLine:
    left, top, right, bottom = line.box
    quad = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    return TextLine(TextRegion(quad, quad, 1.0), Transcription(line.text, 1.0), source="text_layer")


def _boxes(quads: Quads) -> NDArray[np.float64]:
    """Left, top, right and bottom around each quad: (quads, 4)."""
    return np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1).astype(np.float64)


def _covered_area(found: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of each found box the others cover together; they rarely overlap each other."""
    low = np.maximum(found[:, None, :2], boxes[None, :, :2])
    high = np.minimum(found[:, None, 2:], boxes[None, :, 2:])
    overlap: NDArray[np.float64] = (high - low).clip(0).prod(axis=2).sum(axis=1)
    return overlap
