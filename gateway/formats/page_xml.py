"""PAGE XML of 2019-07-15 (https://www.primaresearch.org/schema/PAGE/): one page, a region a paragraph."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from gateway.arrays import Quad
from gateway.formats.boxes import ReadParagraph, read_paragraphs, words_of
from gateway.formats.format import About, Format, joined
from gateway.formats.xml_parts import DECLARATION, element, points, text_element, written
from gateway.ocr.elements import Page, PlacedCharacter, TextLine, Word

_NAMESPACE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"


def write_page(page: Page, number: int) -> bytes:
    """The element of a page."""
    regions = [_region(one, page, f"{number}_{index}") for index, one in enumerate(read_paragraphs(page), 1)]
    size = {"imageWidth": page.width, "imageHeight": page.height}
    return written(element("Page", regions, imageFilename="", **size))


def write_document(pages: Sequence[bytes], about: About) -> bytes:
    """The whole document."""
    created = about.created.isoformat(timespec="seconds")
    metadata = [
        text_element("Creator", f"{about.software}, {about.model_set}"),
        text_element("Created", created),
        text_element("LastChange", created),
    ]
    opening = f'<PcGts xmlns="{_NAMESPACE}">\n'.encode()
    return DECLARATION + opening + written(element("Metadata", metadata)) + b"".join(pages) + b"</PcGts>\n"


def _region(paragraph: ReadParagraph, page: Page, number: str) -> Element:
    page_number = number.partition("_")[0]
    lines = [_line(line, f"line_{page_number}_{index}") for index, line in paragraph.lines]
    corners = paragraph.quad.clip(0, (page.width, page.height)).astype(np.float32)
    return element("TextRegion", [_coordinates(corners), *lines], type="paragraph", id=f"region_{number}")


def _line(line: TextLine, name: str) -> Element:
    assert line.transcription is not None
    words = [_word(word, f"{name}_{index}") for index, word in enumerate(words_of(line), 1)]
    text = _text(line.transcription.text, line.transcription.score)
    return element("TextLine", [_coordinates(line.region.quad), *words, text], id=name)


def _word(word: Word, name: str) -> Element:
    glyphs = [_glyph(one, f"{name}_{index}") for index, one in enumerate(word.characters, 1)]
    return element("Word", [_coordinates(word.quad), *glyphs, _text(word.text, word.score)], id=name)


def _glyph(character: PlacedCharacter, name: str) -> Element:
    return element("Glyph", [_coordinates(character.quad), _text(character.text, character.score)], id=name)


def _coordinates(quad: Quad) -> Element:
    return element("Coords", points=" ".join(f"{x},{y}" for x, y in points(quad)))


def _text(text: str, score: float) -> Element:
    return element("TextEquiv", [text_element("Unicode", text)], conf=f"{score:.4f}")


PAGE_XML = Format(
    "application/vnd.prima.page+xml",
    "PAGE XML of 2019-07-15, a region for each paragraph, lines and words, with level=char also of glyphs; one page.",
    joined(write_page, write_document),
    words=True,
    single=True,
)
