"""The page's picture with the quads drawn into it, coloured by score and numbered in reading order (PNG)."""

import cv2
import numpy as np

from gateway.arrays import Image, Quad
from gateway.formats.format import About, Format
from gateway.ocr.elements import Page, TextLine

GOOD, DOUBTFUL, UNREAD = (60, 160, 0), (0, 120, 240), (200, 0, 160)
"""Blue, green, red."""

DOUBTFUL_SCORE = 0.85
"""Below this a line is drawn as doubtful; it is the score below which lines are read a second time."""

_ACCENT = 2
"""How many times as thick the edge before the text is drawn, to show where it begins."""


class PictureWriter:
    """Draws one page."""

    def __init__(self, _: About) -> None:
        self._png = b""

    def add(self, page: Page, _: int) -> None:
        """Draw a page, whose image must be there."""
        assert page.image is not None, "the format asks for images"
        self._png = cv2.imencode(".png", annotated(page.image, page))[1].tobytes()

    def finish(self) -> bytes:
        """The file."""
        return self._png


def annotated(image: Image, page: Page) -> Image:
    """A copy of the image with the page's lines, and their words in thin lines if they have them."""
    canvas = image.copy()
    thickness = max(1, round(max(image.shape[:2]) / 1000))
    for number, line in enumerate(page.lines, 1):
        color = _color(line)
        for word in line.words or ():
            _outline(canvas, word.quad, color, 1)
        _outline(canvas, line.region.quad, color, thickness)
        _mark_start(canvas, line.region.quad, color, thickness, str(number))
    return canvas


def _color(line: TextLine) -> tuple[int, int, int]:
    if line.transcription is None:
        return UNREAD
    return GOOD if line.transcription.score >= DOUBTFUL_SCORE else DOUBTFUL


def _outline(canvas: Image, quad: Quad, color: tuple[int, int, int], thickness: int) -> None:
    cv2.polylines(canvas, [np.rint(quad).astype(np.int32)], isClosed=True, color=color, thickness=thickness)


def _mark_start(canvas: Image, quad: Quad, color: tuple[int, int, int], thickness: int, number: str) -> None:
    """A thick edge where the text begins, and the line's number above it."""
    top_left, _, _, bottom_left = np.rint(quad).astype(int).tolist()
    cv2.line(canvas, top_left, bottom_left, color, _ACCENT * thickness)
    at = (top_left[0], max(12 * thickness, top_left[1] - 2 * thickness))
    cv2.putText(canvas, number, at, cv2.FONT_HERSHEY_SIMPLEX, 0.4 * thickness, color, thickness, cv2.LINE_AA)


PNG = Format(
    "image/png",
    "The page's picture with its lines outlined and numbered, green if they are read well; one page.",
    PictureWriter,
    image=True,
    single=True,
)
