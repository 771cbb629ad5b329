"""How well quads fit: intersection over union with the drawn ones, matched by what they say."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import cv2
import httpx
import numpy as np
from numpy.typing import NDArray

from loadtest.boxes.drawn import Drawing, Glyph


@dataclass(frozen=True, slots=True)
class Overlap:
    """How one kind of quads fits.

    Attributes:
        ious: of each that was drawn and read, in order.
        missing: how many were drawn but not read as what they are.
    """

    ious: tuple[float, ...]
    missing: int

    @property
    def mean(self) -> float:
        """Of those that were read."""
        return float(np.mean(self.ious)) if self.ious else 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Words and characters of an answer."""

    words: tuple[Glyph, ...]
    characters: tuple[Glyph, ...]


def read(client: httpx.Client, drawing: Drawing) -> Placed:
    """What the gateway says of a drawing."""
    answer = client.post("/v1/ocr", params={"level": "char"}, content=drawing.png)
    answer.raise_for_status()
    words = [word for line in answer.json()["pages"][0]["lines"] for word in line["words"]]
    return Placed(_glyphs(words), _glyphs([character for word in words for character in word["characters"]]))


def overlap(drawn: Sequence[Glyph], placed: Sequence[Glyph]) -> Overlap:
    """Compare what both have in the same order."""
    matcher = SequenceMatcher(None, [one.text for one in drawn], [one.text for one in placed], autojunk=False)
    pairs = [
        (drawn[block.a + index], placed[block.b + index])
        for block in matcher.get_matching_blocks()
        for index in range(block.size)
    ]
    return Overlap(tuple(iou(one.quad, other.quad) for one, other in pairs), len(drawn) - len(pairs))


def iou(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Intersection over union of two convex quads (4, 2)."""
    one, other = first.astype(np.float32), second.astype(np.float32)
    shared, _ = cv2.intersectConvexConvex(one, other)
    union = cv2.contourArea(one) + cv2.contourArea(other) - shared
    return float(shared / union) if union else 0.0


def _glyphs(parts: Sequence[dict[str, Any]]) -> tuple[Glyph, ...]:
    return tuple(Glyph(part["text"], np.array(part["quad"], np.float64)) for part in parts)
