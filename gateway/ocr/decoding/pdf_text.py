"""The text that the page of a PDF itself has, in lines.

PDFium gives characters in the order of the page's content, with line breaks where the baseline changes. A wide gap in
such a line parts columns. Lines whose font does not tell which characters its glyphs are can't be trusted.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pypdfium2
from pypdfium2 import raw

from gateway.ocr.elements import LayerLine

Box = tuple[float, float, float, float]

_GAP = 2.0
"""Heights of a character that part two lines which share a baseline."""

_DOUBTFUL_SHARE = 0.1
"""Of the characters of a line, that may have no known meaning."""

_PRIVATE = range(0xE000, 0xF900)
"""Code points without a common meaning, which fonts use for their glyphs."""


@dataclass(frozen=True, slots=True)
class _Glyph:
    """A character of the page.

    Attributes:
        unit: UTF-16 code unit.
        box: left, bottom, right and top in points; None for a space or break that PDFium has put in.
        doubtful: whether its meaning is unknown.
        hidden: whether it can't be seen.
    """

    unit: int
    box: Box | None
    doubtful: bool
    hidden: bool


def text_lines(page: pypdfium2.PdfPage, size: tuple[int, int], *, hidden: bool) -> Iterator[LayerLine]:
    """The lines of a page that is drawn in this size, (width, height); with text that can't be seen if `hidden`."""
    text_page = page.get_textpage()
    to_image = pypdfium2.PdfPosConv(page, (0, 0, *size, 0)).to_bitmap
    glyphs = (_glyph(text_page, index) for index in range(text_page.count_chars()))
    for line in _lines(glyph for glyph in glyphs if hidden or not glyph.hidden):
        text = _text(line)
        boxes = [glyph.box for glyph in line if glyph.box]
        if text and boxes and not _is_doubtful(line):
            left, bottom, right, top = _around(boxes)
            yield LayerLine(text, _upright(to_image(left, top), to_image(right, bottom)))


def _glyph(text_page: pypdfium2.PdfTextPage, index: int) -> _Glyph:
    unit = raw.FPDFText_GetUnicode(text_page, index)
    if raw.FPDFText_IsGenerated(text_page, index) == 1:
        return _Glyph(unit, None, doubtful=False, hidden=False)
    shape = raw.FPDFText_GetTextObject(text_page, index)
    return _Glyph(
        unit,
        text_page.get_charbox(index),
        doubtful=unit in _PRIVATE or unit in (0, 0xFFFD) or raw.FPDFText_HasUnicodeMapError(text_page, index) == 1,
        hidden=raw.FPDFTextObj_GetTextRenderMode(shape) == raw.FPDF_TEXTRENDERMODE_INVISIBLE,
    )


def _lines(glyphs: Iterable[_Glyph]) -> Iterator[list[_Glyph]]:
    line: list[_Glyph] = []
    for glyph in glyphs:
        if chr(glyph.unit) in "\r\n" or _is_far(line, glyph):
            yield line
            line = []
        line.append(glyph)
    yield line


def _is_far(line: list[_Glyph], glyph: _Glyph) -> bool:
    """Whether a gap lies between the last character of a line and this one."""
    last = next((other.box for other in reversed(line) if other.box), None)
    if last is None or glyph.box is None:
        return False
    height = max(last[3] - last[1], glyph.box[3] - glyph.box[1])
    return glyph.box[0] - last[2] > _GAP * height > 0


def _text(line: list[_Glyph]) -> str:
    """Characters outside of the basic plane are two units; half of one is no character."""
    units = b"".join((glyph.unit & 0xFFFF).to_bytes(2, "little") for glyph in line)
    return " ".join(units.decode("utf-16-le", errors="replace").split())


def _is_doubtful(line: list[_Glyph]) -> bool:
    return sum(glyph.doubtful for glyph in line) > _DOUBTFUL_SHARE * len(line)


def _around(boxes: list[Box]) -> Box:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


def _upright(corner: tuple[int, int], opposite: tuple[int, int]) -> Box:
    """Left, top, right and bottom, whichever way the page is turned."""
    (x1, y1), (x2, y2) = corner, opposite
    return float(min(x1, x2)), float(min(y1, y2)), float(max(x1, x2)), float(max(y1, y2))
