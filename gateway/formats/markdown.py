"""Markdown (CommonMark 0.31): paragraphs whose lines have hard breaks, and rules between pages.

What would mean something is escaped, so that the text shows as it was read.
"""

import re
from collections.abc import Sequence

from gateway.formats.boxes import read_paragraphs
from gateway.formats.format import About, Format, joined
from gateway.ocr.elements import Page, TextLine

_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|]")
"""What means something anywhere in a line."""

_LEADING = re.compile(r"^(\s*)(#{1,6}(?=\s|$)|[-+](?=\s|$)|=+\s*$|-+\s*$|\d{1,9}(?=[.)](?:\s|$)))")
"""What means something at the start of a line: headings, lists and underlines."""

RULE = b"\n---\n\n"


def write_page(page: Page, _: int) -> bytes:
    """The paragraphs, and in these the lines, parted by hard breaks."""
    return "\n".join(_paragraph([line for _, line in one.lines]) for one in read_paragraphs(page)).encode()


def _paragraph(lines: Sequence[TextLine]) -> str:
    texts = "\n".join(line.transcription.text for line in lines if line.transcription)
    return "\\\n".join(escape(text) for text in texts.splitlines() if text.strip()) + "\n"


def escape(line: str) -> str:
    """A line that shows as it is."""
    escaped = _SPECIAL.sub(r"\\\g<0>", line.strip())
    return _LEADING.sub(_escape_start, escaped)


def _escape_start(match: re.Match[str]) -> str:
    mark = match[2]
    return f"{match[1]}{mark}\\" if mark.isdigit() else f"{match[1]}\\{mark}"


def write_document(pages: Sequence[bytes], _: About) -> bytes:
    """The pages that say something."""
    return RULE.join(page for page in pages if page)


MARKDOWN = Format(
    "text/markdown; charset=utf-8",
    "Paragraphs of lines with hard breaks; pages are parted by rules.",
    joined(write_page, write_document),
)
