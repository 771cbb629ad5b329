"""TSV with Tesseract's columns: a row for each page, block, paragraph, line and word.

Each page is one block. Scores are from 0 to 100, and -1 in rows that are no words, as there.
"""

from collections.abc import Iterator, Sequence

from gateway.formats.boxes import Box, box_of, read_paragraphs, whole_page, words_of
from gateway.formats.format import About, Format, joined
from gateway.ocr.elements import Page, TextLine

HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"

PAGE, BLOCK, PARAGRAPH, LINE, WORD = range(1, 6)
"""The levels."""


def write_page(page: Page, number: int) -> bytes:
    """The rows of a page."""
    return "".join(_rows(page, number)).encode()


def write_document(pages: Sequence[bytes], _: About) -> bytes:
    """One header and all rows."""
    return HEADER.encode() + b"".join(pages)


def _rows(page: Page, number: int) -> Iterator[str]:
    yield _row(PAGE, (number, 0, 0, 0, 0), whole_page(page))
    paragraphs = read_paragraphs(page)
    if paragraphs:
        yield _row(BLOCK, (number, 1, 0, 0, 0), whole_page(page))
    for paragraph_number, paragraph in enumerate(paragraphs, 1):
        place = (number, 1, paragraph_number)
        yield _row(PARAGRAPH, (*place, 0, 0), box_of(paragraph.quad, page))
        for line_number, (_, line) in enumerate(paragraph.lines, 1):
            yield from _line_rows(line, page, (*place, line_number))


def _line_rows(line: TextLine, page: Page, place: tuple[int, ...]) -> Iterator[str]:
    yield _row(LINE, (*place, 0), box_of(line.region.quad, page))
    for number, word in enumerate(words_of(line), 1):
        yield _row(WORD, (*place, number), box_of(word.quad, page), f"{100 * word.score:.2f}", word.text)


def _row(level: int, place: tuple[int, ...], box: Box, score: str = "-1", text: str = "") -> str:
    # A tab or a line feed in a word, as a file's own text may have, would begin another cell.
    cells = (level, *place, box.left, box.top, box.width, box.height, score, " ".join(text.split()))
    return "\t".join(map(str, cells)) + "\n"


TSV = Format(
    "text/tab-separated-values; charset=utf-8",
    "Tesseract's columns, a row for each page, block, paragraph, line and word.",
    joined(write_page, write_document),
    words=True,
)
