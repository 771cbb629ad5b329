"""Pages that differ in one thing only: how many lines there are, how many pixels, or one very wide line more. Pure."""

import random
from dataclasses import dataclass
from io import BytesIO
from itertools import islice

from PIL import Image, ImageDraw, ImageFont

SIDE = 2000
"""Pixels of a page's sides, unless its size is what differs: as many as the detector looks at unscaled."""
MANY = 2000
"""Short words, which is what fits so often onto one page."""
ROWS, COLUMNS = 50, 40
WIDE_ROWS, WIDE_COLUMNS = 50, 4
LINE_WIDTH = 205
"""Pixels of a printed line beside the wide one: such that its crop is as wide as the corpus's lines are in the mean."""
WIDE_WIDTH = 1830
"""Such that its crop has 3,000 pixels."""
LINES_BY_SIZE = 12
QUALITY = 90
_LETTERS = "abcdefghkmnopqrstuvwxz"
_FONT_SIZE = 16


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page.

    Attributes:
        name: in results.
        lines: that were drawn.
        pixels: of it.
        data: JPEG.
    """

    name: str
    lines: int
    pixels: int
    data: bytes


def with_words(count: int) -> DrawnPage:
    """A page of 4 MP with so many words of three letters, MANY at the most; the same at every call."""
    page, draw, font, rng = _paper(SIDE), ImageDraw.Draw, ImageFont.load_default(_FONT_SIZE), random.Random(count)
    brush = draw(page)
    places = [
        (12 + column * SIDE // COLUMNS, 10 + row * SIDE // ROWS) for row in range(ROWS) for column in range(COLUMNS)
    ]
    for place in sorted(rng.sample(places, count)):
        brush.text(place, "".join(rng.choices(_LETTERS, k=3)), "black", font)
    return _encoded(f"{count:,} words", count, page)


def with_lines(*, wide: bool) -> DrawnPage:
    """A page of 4 MP with 200 lines of common width and, if wanted, one that runs from edge to edge."""
    page, font, rng = _paper(SIDE), ImageFont.load_default(_FONT_SIZE), random.Random(200)
    brush, pitch = ImageDraw.Draw(page), SIDE / (WIDE_ROWS + 2)
    for row in range(WIDE_ROWS):
        for column in range(WIDE_COLUMNS):
            place = (20 + column * SIDE // WIDE_COLUMNS, 10 + row * pitch)
            brush.text(place, _text(rng, font, LINE_WIDTH), "black", font)
    if wide:
        brush.text((80, 10 + (WIDE_ROWS + 0.5) * pitch), _text(rng, font, WIDE_WIDTH), "black", font)
    count = WIDE_ROWS * WIDE_COLUMNS
    return _encoded(f"{count} lines and a wide one" if wide else f"{count} lines", count + wide, page)


def of_size(megapixels: float) -> DrawnPage:
    """A square page of so many megapixels with the same few lines, as large as the page allows."""
    side = round((megapixels * 1e6) ** 0.5)
    page, font, rng = _paper(side), ImageFont.load_default(side / 24), random.Random(LINES_BY_SIZE)
    brush = ImageDraw.Draw(page)
    for line in range(LINES_BY_SIZE):
        place = (side / 20, side / 40 + line * side / (LINES_BY_SIZE + 0.5))
        brush.text(place, " ".join("".join(rng.choices(_LETTERS, k=5)) for _ in range(5)), "black", font)
    return _encoded(f"{megapixels:g} MP", LINES_BY_SIZE, page)


def _paper(side: int) -> Image.Image:
    return Image.new("RGB", (side, side), "white")


def _text(rng: random.Random, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: float) -> str:
    """Words of five letters that together are about so wide."""
    words = iter(lambda: "".join(rng.choices(_LETTERS, k=5)), "")
    text = next(words)
    for word in islice(words, 1000):
        if font.getlength(f"{text} {word}") > width:
            break
        text = f"{text} {word}"
    return text


def _encoded(name: str, lines: int, page: Image.Image) -> DrawnPage:
    buffer = BytesIO()
    page.save(buffer, "JPEG", quality=QUALITY)
    return DrawnPage(name, lines, page.width * page.height, buffer.getvalue())
