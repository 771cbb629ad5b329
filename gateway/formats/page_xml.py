"""PAGE XML of 2019-07-15 (https://www.primaresearch.org/schema/PAGE/): one page; lines, words and their glyphs."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gateway.arrays import Quad
from gateway.formats.boxes import read_lines, words_of
from gateway.formats.format import About, Format, joined
from gateway.formats.xml_parts import DECLARATION, element, points, text_element, written
from gateway.ocr.elements import Page, PlacedCharacter, TextLine, Word
from gateway.ocr.geometry import whole_quad

_NAMESPACE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"


def write_page(page: Page, number: int) -> bytes:
    """The element of a page; all of its lines are one region."""
    lines = [_line(line, f"line_{number}_{index}") for index, line in enumerate(read_lines(page), 1)]
    outline = _coordinates(whole_quad(page.height, page.width))
    region = element("TextRegion", [outline, *lines], id=f"region_{number}")
    size = {"imageWidth": page.width, "imageHeight": page.height}
    return written(element("Page", [region] if lines else [], imageFilename="", **size))


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
    "PAGE XML of 2019-07-15, lines of words, with level=char also of glyphs; one page.",
    joined(write_page, write_document),
    words=True,
    single=True,
)
