"""Long documents, made here: pages of text as a scanner or a fax would store them."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

SIZE = (1654, 2339)
"""A4 at 200 pixels to the inch."""

DPI = 200
LINES = 8
WORDS = ("Delivery", "Invoice", "Amount", "Garden", "Winter", "Balance", "Receipt", "Kitchen")


@dataclass(frozen=True, slots=True)
class Document:
    """A file, and what its pages say first.

    Attributes:
        name: of it.
        data: its bytes.
        titles: first line of each page.
    """

    name: str
    data: bytes
    titles: tuple[str, ...]


def scanned_pdf(count: int) -> Document:
    """Pages of 1 bit in a PDF."""
    return _document(f"PDF of {count} scans", count, "PDF", resolution=DPI)


def fax(count: int) -> Document:
    """Pages of 1 bit in a TIFF, compressed as faxes are."""
    return _document(f"TIFF of {count} pages", count, "TIFF", compression="group4", dpi=(DPI, DPI))


def _document(name: str, count: int, file_type: str, **options: object) -> Document:
    titles = tuple(f"Page {number}" for number in range(1, count + 1))
    pages = _pages(titles)
    file = io.BytesIO()
    next(pages).save(file, file_type, save_all=True, append_images=pages, **options)
    return Document(name, file.getvalue(), titles)


def _pages(titles: tuple[str, ...]) -> Iterator[Image.Image]:
    font = ImageFont.load_default(44)
    for number, title in enumerate(titles):
        page = Image.new("1", SIZE, 1)
        draw = ImageDraw.Draw(page)
        for line, text in enumerate([title, *_lines(number)]):
            draw.text((150, 150 + 90 * line), text, 0, font)
        yield page


def _lines(number: int) -> Iterator[str]:
    for line in range(LINES):
        words = (WORDS[(number + line * step) % len(WORDS)] for step in (1, 3, 5))
        yield f"{' '.join(words)} {100 * number + line}"
