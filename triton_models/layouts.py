"""Which shapes a repository serves, and with how many models.

Two layouts. "any": one model of each kind takes every shape; right for CPUs, where a new shape costs nothing.
"per-shape": one model per shape. On GPUs ONNX Runtime 1.20 and newer plans all convolutions anew, for seconds, whenever
the shape of the input differs from that of the session's last run (microsoft/onnxruntime#23006), so every shape gets a
session of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from triton_models.catalog import LINE_HEIGHT, SIDE_MULTIPLE, STEP_WIDTH
from triton_models.errors import ShapeError


class Layout(StrEnum):
    """How shapes are spread over models."""

    ANY = "any"
    PER_SHAPE = "per-shape"


CHUNK_AREA = LINE_HEIGHT * 320 * 32
"""Pixels, padding included, in the largest recognition call: 32 lines of the width that PP-OCR was trained with."""

MAX_ROWS = 64
"""Most rows of a call in layout "any", where lines are short enough for the area not to bound them earlier."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes that a repository is built for.

    Attributes:
        buckets: widths that lines are padded to, ascending.
        row_counts: numbers of rows that have a model, in layout "per-shape"; see `rows_of`.
        detection: (height, width) of the detector's input: those that have a model in layout "per-shape", those that
            are warmed up in layout "any".

    Raises:
        ShapeError: sizes that the models can't take, or not in order.
    """

    buckets: tuple[int, ...]
    row_counts: tuple[int, ...]
    detection: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        _require_sizes("bucket widths", self.buckets, STEP_WIDTH)
        if self.row_counts:
            _require_sizes("row counts", self.row_counts, 1)
        for shape in self.detection:
            if any(side <= 0 or side % SIDE_MULTIPLE for side in shape):
                raise ShapeError(f"sides for detection must be multiples of {SIDE_MULTIPLE}, got {shape}")


def _require_sizes(what: str, sizes: tuple[int, ...], multiple: int) -> None:
    if not sizes or any(size <= 0 or size % multiple for size in sizes):
        raise ShapeError(f"{what} must be multiples of {multiple}, at least one, got {sizes}")
    if sorted(set(sizes)) != list(sizes):
        raise ShapeError(f"{what} must ascend, got {sizes}")


# On CPUs a model takes as long as there are pixels, so buckets are close together: of what is sent for the lines of the
# corpus 7.7 % is padding, with 16 widths it were 12.2 (`make bench-padding`). They grow evenly, for no lines in
# particular.
ANY_SHAPES = Shapes(
    buckets=(
        *(48, 64, 80, 104, 128, 160, 192, 224, 264, 320, 368, 424),
        *(480, 560, 640, 720, 800, 912, 1040, 1280, 1600, 1840, 2200, 2560),
    ),
    row_counts=(),
    detection=((736, 736), (960, 960)),
)

# Sides: 736, the shorter side that the gateway scales small images to; 2016 holds the limit of its longer side. Common
# pages are fitted closely: 736x1312 for 16:9 up to 1280x720, 768x1024 for 4:3 and small forms, 1280x1760 for A4 and
# Letter at 150 dpi, 1152x2016 and 1504x2016 for 16:9 and A4 at the limit. Combinations that no common page has are left
# out: each costs memory (about 350 MiB per megapixel on an H200).
_LANDSCAPES = ((736, 1152), (736, 1312), (768, 1024), (736, 2016), (1152, 2016), (1280, 1760), (1504, 2016))
_SQUARES = ((736, 736), (1152, 1152), (2016, 2016))

# A GPU takes nearly as long for a few lines as for many (1.8 ms for one line of 320, 3.1 ms for 32 on an H200), so what
# counts is the number of calls. Twice as many buckets would save pixels and cost calls: docs/gpu.md.
PER_SHAPE_SHAPES = Shapes(
    buckets=(160, 320, 640, 960, 1600, 2560),
    row_counts=(1, 8, 32),
    detection=(*_SQUARES, *_LANDSCAPES, *((width, height) for height, width in _LANDSCAPES)),
)

DEFAULT_SHAPES = {Layout.ANY: ANY_SHAPES, Layout.PER_SHAPE: PER_SHAPE_SHAPES}


def chunk_rows(width: int) -> int:
    """The most rows of this width that the chunk area allows; at least one."""
    return max(1, min(MAX_ROWS, CHUNK_AREA // (LINE_HEIGHT * width)))


def rows_of(width: int, row_counts: tuple[int, ...]) -> tuple[int, ...]:
    """The row counts that have a model of this width, ascending.

    Counts beyond the chunk area are cut to the largest power of two within it: of 1, 8, 32 a width of 640 (16 rows fit)
    keeps 1, 8, 16 and a width of 1600 (6 fit) keeps 1, 4.
    """
    limit = 1 << (chunk_rows(width).bit_length() - 1)
    return tuple(sorted({min(rows, limit) for rows in row_counts}))


def recognition_shapes(shapes: Shapes) -> Iterator[tuple[int, int]]:
    """The (width, rows) of every recognition model of layout "per-shape"."""
    for width in shapes.buckets:
        for rows in rows_of(width, shapes.row_counts):
            yield width, rows
