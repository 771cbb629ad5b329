"""Names and shapes of the arrays that cross module borders, and the two small values made of them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Image: TypeAlias = NDArray[np.uint8]
"""Decoded pixels, upright: (height, width, 3) in BGR."""

Plane: TypeAlias = NDArray[np.uint8]
"""Pixels of one colour, or of a picture without any: (height, width)."""

ProbabilityMap: TypeAlias = NDArray[np.uint8]
"""Probability of text per pixel of the detector's input: (height, width), `round(255 p)`.

Rounded, not cut: 0.3, the usual binarize threshold, is 76.5 and falls exactly between two values, so the rounded map
binarizes like the original one.
"""

Quad: TypeAlias = NDArray[np.float32]
"""Four corners in pixels of the image: (4, 2) of (x, y), clockwise from the top-left corner of the text."""

Crop: TypeAlias = NDArray[np.uint8]
"""One upright line, as high as the recogniser reads: (line_height, width, 3) in BGR, not padded."""

Rows: TypeAlias = NDArray[np.uint8]
"""Lines of one bucket, padded: (rows, line_height, bucket_width, 3) in BGR."""


@dataclass(frozen=True, slots=True)
class StepAlternatives:
    """The best classes of steps, the top one first; of a line (steps, alternatives), of a chunk with its rows before.

    Attributes:
        class_index: int32; 0 is the blank.
        probability: float32, theirs.
    """

    class_index: NDArray[np.int32]
    probability: NDArray[np.float32]

    def line(self, row: int) -> "StepAlternatives":
        """Those of one row of a chunk."""
        return StepAlternatives(self.class_index[row], self.probability[row])


@dataclass(frozen=True, slots=True)
class LineSteps:
    """What the recogniser says of one line, step by step from left to right.

    Attributes:
        class_index: int32 (steps,), the most probable class of each step; 0 is the blank.
        probability: float32 (steps,), its probability.
        space_probability: float32 (steps,), the probability of the space.
        alternatives: (steps, alternatives), if they were asked for.
    """

    class_index: NDArray[np.int32]
    probability: NDArray[np.float32]
    space_probability: NDArray[np.float32]
    alternatives: StepAlternatives | None = None


@dataclass(frozen=True, slots=True)
class RowSteps:
    """What the recogniser says of the rows of one chunk; as `LineSteps`, with (rows, steps) for (steps,)."""

    class_index: NDArray[np.int32]
    probability: NDArray[np.float32]
    space_probability: NDArray[np.float32]
    alternatives: StepAlternatives | None = None

    def line(self, row: int) -> LineSteps:
        """The steps of one row."""
        alternatives = self.alternatives.line(row) if self.alternatives else None
        return LineSteps(self.class_index[row], self.probability[row], self.space_probability[row], alternatives)
