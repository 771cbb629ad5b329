"""Markdown (CommonMark 0.31): the lines as they are, with hard breaks, and rules between pages.

What would mean something is escaped, so that the text shows as it was read.
"""

import re
from collections.abc import Sequence

from gateway.formats.format import About, Format, joined
from gateway.ocr.elements import Page

_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|]")
"""What means something anywhere in a line."""

_LEADING = re.compile(r"^(\s*)(#{1,6}(?=\s|$)|[-+](?=\s|$)|=+\s*$|-+\s*$|\d{1,9}(?=[.)](?:\s|$)))")
"""What means something at the start of a line: headings, lists and underlines."""

RULE = b"\n---\n\n"


def write_page(page: Page, _: int) -> bytes:
    """The lines, parted by hard breaks."""
    lines = [escape(line) for line in page.text.splitlines() if line.strip()]
    return ("\\\n".join(lines) + "\n").encode() if lines else b""


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
    "The lines with hard breaks; pages are parted by rules.",
    joined(write_page, write_document),
)
