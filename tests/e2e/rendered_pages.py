"""Pages of known text, rendered with the font that comes with Pillow. The same call always gives the same bytes."""

import io
from itertools import cycle, islice

from PIL import Image, ImageDraw, ImageFont

PAPER, INK = (246, 244, 240), (30, 30, 36)
WORDS = [
    "Amount",
    "Balance",
    "Cheese",
    "Delivery",
    "Eleven",
    "Flour",
    "Garden",
    "Honey",
    "Invoice",
    "Journey",
    "Kitchen",
    "Lemon",
    "Market",
    "Number",
    "Orange",
    "Paper",
    "Quality",
    "Receipt",
    "Sugar",
    "Total",
    "Upper",
    "Village",
    "Winter",
    "Yellow",
    "12.50",
    "48.00",
    "7.95",
    "1300",
    "2026",
    "64",
    "Zebra",
]


def lines_of_words(count: int, *, first: int = 0, longest: int = 6) -> list[str]:
    """So many lines of one to `longest` words; another `first` gives other ones."""
    lines = []
    for number in range(first, first + count):
        start = 7 * number % len(WORDS)
        lines.append(" ".join(islice(cycle(WORDS), start, start + 1 + number % longest)))
    return lines


def page(lines: list[str], *, width: int, height: int, size: int = 20, step: int = 40) -> Image.Image:
    """Lines below each other, with their left edges at a margin."""
    picture = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        draw.text((size, size + step * number), line, INK, ImageFont.load_default(size))
    return picture


def lines_of_receipt() -> list[str]:
    """What the receipt says."""
    return lines_of_words(48)


def receipt() -> Image.Image:
    """48 lines of varied width."""
    return page(lines_of_receipt(), width=640, height=1728, size=20, step=35)


def lines_of_small_page(number: int) -> list[str]:
    """What a small page says."""
    return lines_of_words(6, first=11 * number, longest=4)


def small_page(number: int) -> Image.Image:
    """Six short lines, different ones for each number."""
    return page(lines_of_small_page(number), width=480, height=320, size=20, step=48)


def turned_page() -> Image.Image:
    """A small page upside down."""
    return small_page(40).rotate(180)


def wide_line() -> Image.Image:
    """One line that is 3,800 pixels wide when it is 48 high, half as much again as the last bucket."""
    text = " ".join(lines_of_words(1, longest=1) + lines_of_words(9, longest=5))
    return page([text], width=3300, height=120, size=40)


def blank_page() -> Image.Image:
    """Nothing but paper."""
    return page([], width=480, height=320)


def png(picture: Image.Image) -> bytes:
    """The picture as a client sends it."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()
