"""A large image in tiles, so that small text is looked for at its full size.

What the tiles give is joined in the probability map and not in the found quads: of each tile's map only the part counts
that is far from its edges, and these parts cover the image without overlapping. So a line that crosses tiles is one
region of the joined map: neither cut nor found twice.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from gateway.arrays import Image, ProbabilityMap
from gateway.ocr.detection import PreparedImage, Shape
from gateway.ocr.options import DetectionOptions

OVERLAP = 256
"""Pixels that neighbours share. Half of them is what the detector sees beyond the part that counts."""


_BLANK_RANGE = 8
"""Of 255: where no sample differs more from another, there is nothing to see, for the detector neither."""


@dataclass(frozen=True, slots=True)
class Span:
    """One dimension of a tile, in pixels of the image.

    Attributes:
        start, end: what the detector is shown.
        core_start, core_end: the part that counts.
    """

    start: int
    end: int
    core_start: int
    core_end: int


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of an image.

    Attributes:
        down, across: its place.
    """

    down: Span
    across: Span

    def cut(self, image: Image) -> Image:
        """What the detector is shown; a view."""
        return image[self.down.start : self.down.end, self.across.start : self.across.end]


def tile_side(options: DetectionOptions, shapes: Sequence[Shape] | None) -> int:
    """The largest side of a tile that the detector sees at full size."""
    if shapes is None:
        return options.limit_side
    return min(options.limit_side, max(min(shape) for shape in shapes))


def plan_tiles(shape: Shape, side: int) -> list[list[Tile]]:
    """Rows of tiles that cover an image of this (height, width); one tile if that is enough."""
    columns = spans(shape[1], side)
    return [[Tile(down, across) for across in columns] for down in spans(shape[0], side)]


def spans(length: int, side: int) -> list[Span]:
    """As few as possible, equally far apart."""
    overlap = min(OVERLAP, side // 2)
    count = max(1, math.ceil((length - overlap) / (side - overlap)))
    starts = [round(index * (length - side) / (count - 1)) for index in range(count)] if count > 1 else [0]
    ends = [min(start + side, length) for start in starts]
    borders = [0, *((end + start) // 2 for end, start in zip(ends, starts[1:], strict=False)), length]
    return [Span(*span) for span in zip(starts, ends, borders, borders[1:], strict=False)]


def with_ink(image: Image, tiles: Iterable[Tile]) -> list[Tile]:
    """The tiles that show anything. Large plans are mostly empty, and a look costs a hundredth of a detection."""
    return [tile for tile in tiles if not is_blank(tile.cut(image))]


def is_blank(image: Image) -> bool:
    """Whether all of it, (height, width, 3), has one colour, as good as."""
    highest, lowest = image.max(axis=0).max(axis=0).astype(int), image.min(axis=0).min(axis=0)
    return bool((highest - lowest <= _BLANK_RANGE).all())


def join(shape: Shape, parts: Iterable[tuple[Tile, PreparedImage, ProbabilityMap]]) -> ProbabilityMap:
    """The map of the whole image, (height, width), from the maps of its tiles; nothing where there is none."""
    joined = np.zeros(shape, np.uint8)
    for tile, prepared, probability_map in parts:
        down, across = tile.down, tile.across
        seen = _in_tile(tile, prepared, probability_map)
        joined[down.core_start : down.core_end, across.core_start : across.core_end] = seen[
            down.core_start - down.start : down.core_end - down.start,
            across.core_start - across.start : across.core_end - across.start,
        ]
    return joined


def whole(image: Image) -> PreparedImage:
    """An image that is its own input: pixels of the joined map are pixels of the image."""
    return PreparedImage(image, (image.shape[0], image.shape[1]), offset=(0, 0), scale=(1.0, 1.0))


def _in_tile(tile: Tile, prepared: PreparedImage, probability_map: ProbabilityMap) -> ProbabilityMap:
    """The map of a tile without its padding, as large as the tile."""
    height, width = tile.down.end - tile.down.start, tile.across.end - tile.across.start
    left, top = prepared.offset
    right, bottom = left + round(width / prepared.scale[0]), top + round(height / prepared.scale[1])
    seen = probability_map[top:bottom, left:right]
    if seen.shape == (height, width):
        return seen
    return np.asarray(cv2.resize(seen, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)
