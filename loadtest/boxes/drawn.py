"""Text drawn glyph by glyph, so that it is known where each stands: the ground truth.

A glyph is as wide as its ink and, like the quads of the API, as high as its line.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

PAPER, INK = (246, 244, 240), (30, 30, 36)

IDEOGRAPH_FONTS = (
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
)
"""Where common Linux systems keep a font with ideographs; Pillow brings none."""

Font = ImageFont.FreeTypeFont
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Glyph:
    """One character and its quad (4, 2), clockwise from the top-left of the text."""

    text: str
    quad: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of one line.

    Attributes:
        pixels: (height, width, 3) in BGR.
        text: what it says.
        glyphs: all of its characters but spaces, in order.
        words: their quads likewise: what stands between spaces.
    """

    pixels: NDArray[np.uint8]
    text: str
    glyphs: tuple[Glyph, ...]
    words: tuple[Glyph, ...]

    @property
    def png(self) -> bytes:
        """The file."""
        stream = io.BytesIO()
        Image.fromarray(self.pixels[..., ::-1]).save(stream, "PNG")
        return stream.getvalue()


def latin_font(size: int) -> Font:
    """The font that comes with Pillow."""
    font = ImageFont.load_default(size)
    assert isinstance(font, Font)
    return font


def ideograph_font(size: int) -> Font | None:
    """A font of the system, if it has one that is known."""
    path = next((path for path in IDEOGRAPH_FONTS if Path(path).is_file()), None)
    return ImageFont.truetype(path, size) if path else None


def draw_line(text: str, font: Font, *, degrees: int = 0, inverted: bool = False) -> Drawing:
    """One level line, then the whole picture turned clockwise."""
    places = [(font.getlength(text[:index]), 0.0) for index in range(len(text))]
    return _draw(text, font, places, level=True, degrees=degrees, inverted=inverted)


def draw_column(text: str, font: Font) -> Drawing:
    """Upright characters, one below the other."""
    places = [(0.0, 1.05 * font.size * index) for index in range(len(text))]
    return _draw(text, font, places, level=False, degrees=0, inverted=False)


def _draw(
    text: str, font: Font, places: Sequence[tuple[float, float]], *, level: bool, degrees: int, inverted: bool
) -> Drawing:
    size = round(font.size)
    origin = (5 * size, 5 * size)
    last_x, last_y = places[-1]
    paper, ink = (INK, PAPER) if inverted else (PAPER, INK)
    picture = Image.new("RGB", (round(last_x) + 11 * size, round(last_y) + 10 * size), paper)
    drawing = ImageDraw.Draw(picture)
    boxes: list[tuple[str, Box]] = []
    for character, (x, y) in zip(text, places, strict=True):
        at = (round(origin[0] + x), round(origin[1] + y))
        drawing.text(at, character, ink, font, anchor="ls")
        boxes.append((character, _shifted(_ink_box(character, font), at)))
    pixels, matrix = _turned(np.asarray(picture)[..., ::-1], degrees)
    glyphs = [(text, box) for text, box in boxes if not text.isspace()]
    whole = _around([box for _, box in glyphs])
    words = [("".join(text for text, _ in word), _around([box for _, box in word])) for word in _words(boxes)]
    return Drawing(pixels, text, _glyphs(glyphs, whole, level, matrix), _glyphs(words, whole, level, matrix))


def _glyphs(boxes: Sequence[tuple[str, Box]], line: Box, level: bool, matrix: NDArray[np.float64]) -> tuple[Glyph, ...]:
    return tuple(Glyph(text, _quad(box, line, level) @ matrix[:, :2].T + matrix[:, 2]) for text, box in boxes)


def _quad(box: Box, line: Box, level: bool) -> NDArray[np.float64]:
    """As long as the box along the line, and across it as the line."""
    left, top, right, bottom = box
    if level:
        _, top, _, bottom = line
        return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    left, _, right, _ = line
    return np.array([[right, top], [right, bottom], [left, bottom], [left, top]])


@cache
def _ink_box(character: str, font: Font) -> Box:
    """Where a glyph is more ink than paper, from its origin on the baseline."""
    side = 4 * round(font.size)
    canvas = Image.new("L", (side, side))
    ImageDraw.Draw(canvas).text((side // 2, side // 2), character, 255, font, anchor="ls")
    left, top, right, bottom = canvas.point(lambda value: 255 * (value > 127)).getbbox() or (0, 0, 0, 0)
    return left - side // 2, top - side // 2, right - side // 2, bottom - side // 2


def _shifted(box: Box, by: tuple[int, int]) -> Box:
    return box[0] + by[0], box[1] + by[1], box[2] + by[0], box[3] + by[1]


def _around(boxes: Sequence[Box]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _words(boxes: Sequence[tuple[str, Box]]) -> list[list[tuple[str, Box]]]:
    words: list[list[tuple[str, Box]]] = [[]]
    for character, box in boxes:
        if character.isspace():
            words.append([])
        else:
            words[-1].append((character, box))
    return words


def _turned(pixels: NDArray[np.uint8], degrees: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The picture turned clockwise without losing a corner, and the matrix (2, 3) of its coordinates."""
    height, width = pixels.shape[:2]
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    rotation = np.array([[cos, -sin], [sin, cos]])
    new_size = np.rint(np.abs(rotation) @ (width, height)).astype(int)
    matrix = np.column_stack([rotation, new_size / 2 - rotation @ (width / 2, height / 2)])
    # OpenCV counts from the middles of pixels.
    centred = matrix.copy()
    centred[:, 2] += rotation @ (0.5, 0.5) - 0.5
    turned = cv2.warpAffine(
        np.ascontiguousarray(pixels),
        centred,
        (int(new_size[0]), int(new_size[1])),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(turned, np.uint8), matrix
