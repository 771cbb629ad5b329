"""Plain text: a line each, pages parted by form feeds, as Tesseract does it."""

from collections.abc import Sequence

from gateway.formats.format import About, Format, joined
from gateway.ocr.elements import Page

FORM_FEED = b"\f"


def write_page(page: Page, _: int) -> bytes:
    """The text, and a line feed if there is any."""
    return f"{page.text}\n".encode() if page.text else b""


def write_document(pages: Sequence[bytes], _: About) -> bytes:
    """The pages' texts."""
    return FORM_FEED.join(pages)


TEXT = Format(
    "text/plain; charset=utf-8",
    "The text alone, a line each; pages are parted by form feeds.",
    joined(write_page, write_document),
)
