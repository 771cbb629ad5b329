"""hOCR 1.2 (http://kba.github.io/hocr-spec/1.2/): XHTML whose titles carry boxes and scores, down to words.

`poly` has the quad's corners where `bbox` is only the box around them; `x_wconf` is the score from 0 to 100.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gateway.arrays import Quad
from gateway.formats.boxes import Box, ReadParagraph, box_of, has_space_before, read_paragraphs, whole_page, words_of
from gateway.formats.format import About, Format, joined
from gateway.formats.xml_parts import DECLARATION, element, points, text_element, written
from gateway.ocr.elements import Page, TextLine, Word

_CAPABILITIES = "ocr_page ocr_par ocr_line ocrx_word ocrp_poly ocrp_wconf"


def write_page(page: Page, number: int) -> bytes:
    """The division of a page."""
    paragraphs = [_paragraph(one, page, f"{number}_{index}") for index, one in enumerate(read_paragraphs(page), 1)]
    title = f'image ""; {_bbox(whole_page(page))}; ppageno {number - 1}'
    return written(element("div", paragraphs, class_="ocr_page", id=f"page_{number}", title=title))


def write_document(pages: Sequence[bytes], about: About) -> bytes:
    """The whole document."""
    head = element(
        "head",
        [
            text_element("title", "OCR"),
            element("meta", charset="utf-8"),
            element("meta", name="ocr-system", content=about.software),
            element("meta", name="ocr-capabilities", content=_CAPABILITIES),
        ],
    )
    opening = DECLARATION + b'<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml">\n'
    return opening + written(head) + b"<body>\n" + b"".join(pages) + b"</body>\n</html>\n"


def _paragraph(paragraph: ReadParagraph, page: Page, number: str) -> Element:
    page_number = number.partition("_")[0]
    lines = [_line(line, page, f"{page_number}_{index}") for index, line in paragraph.lines]
    made = element("p", lines, class_="ocr_par", id=f"par_{number}", title=_title(paragraph.quad, page))
    made.tail = "\n"
    return made


def _line(line: TextLine, page: Page, number: str) -> Element:
    words = [_word(word, page, f"{number}_{index}") for index, word in enumerate(words_of(line), 1)]
    for before, word in zip(words, words_of(line)[1:], strict=False):
        before.tail = " " if has_space_before(word) else None
    title = _title(line.region.quad, page)
    made = element("span", words, class_="ocr_line", id=f"line_{number}", title=title)
    made.tail = "\n"
    return made


def _word(word: Word, page: Page, number: str) -> Element:
    title = f"{_title(word.quad, page)}; x_wconf {round(100 * word.score)}"
    return text_element("span", word.text, class_="ocrx_word", id=f"word_{number}", title=title)


def _title(quad: Quad, page: Page) -> str:
    corners = " ".join(f"{x} {y}" for x, y in points(quad))
    return f"{_bbox(box_of(quad, page))}; poly {corners}"


def _bbox(box: Box) -> str:
    return "bbox " + " ".join(map(str, box))


HOCR = Format(
    "text/vnd.hocr+html; charset=utf-8",
    "hOCR 1.2, pages with paragraphs, lines and words.",
    joined(write_page, write_document),
    words=True,
)
