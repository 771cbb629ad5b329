"""ALTO 4.2 (https://www.loc.gov/standards/alto/): a block a paragraph, lines with their polygons, words and spaces."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.etree.ElementTree import Element

from gateway.arrays import Quad
from gateway.formats.boxes import Box, ReadParagraph, box_of, has_space_before, read_paragraphs, whole_page, words_of
from gateway.formats.format import About, Format, joined
from gateway.formats.xml_parts import DECLARATION, element, points, text_element, written
from gateway.ocr.elements import Page, PlacedCharacter, TextLine, Word

_NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"


def write_page(page: Page, number: int) -> bytes:
    """The element of a page."""
    blocks = [_block(one, page, f"{number}_{index}") for index, one in enumerate(read_paragraphs(page), 1)]
    space = element("PrintSpace", blocks, **_place(whole_page(page)))
    size = {"WIDTH": page.width, "HEIGHT": page.height}
    return written(element("Page", [space], ID=f"page_{number}", PHYSICAL_IMG_NR=number, **size))


def write_document(pages: Sequence[bytes], about: About) -> bytes:
    """The whole document."""
    name, _, version = about.software.partition(" ")
    software = [text_element("softwareName", name), text_element("softwareVersion", version)]
    step = [
        text_element("processingDateTime", about.created.isoformat(timespec="seconds")),
        text_element("processingStepSettings", about.model_set),
        element("processingSoftware", software),
    ]
    description = [text_element("MeasurementUnit", "pixel"), element("Processing", step, ID="ocr")]
    opening = f'<alto xmlns="{_NAMESPACE}" SCHEMAVERSION="4.2">\n'.encode()
    layout = b"<Layout>\n" + b"".join(pages) + b"</Layout>\n"
    return DECLARATION + opening + written(element("Description", description)) + layout + b"</alto>\n"


def _block(paragraph: ReadParagraph, page: Page, number: str) -> Element:
    page_number = number.partition("_")[0]
    lines = [_line(line, page, f"{page_number}_{index}") for index, line in paragraph.lines]
    parts = [_shape(paragraph.quad), *lines]
    return element("TextBlock", parts, ID=f"block_{number}", **_place(box_of(paragraph.quad, page)))


def _line(line: TextLine, page: Page, number: str) -> Element:
    box = box_of(line.region.quad, page)
    parts = [_shape(line.region.quad), *_strings(words_of(line), page, number)]
    return element("TextLine", parts, ID=f"line_{number}", **_place(box))


def _strings(words: Sequence[Word], page: Page, number: str) -> Iterator[Element]:
    for index, (before, word) in enumerate(pairwise((None, *words)), 1):
        assert word is not None
        if before and has_space_before(word):
            yield element("SP")
        name = f"word_{number}_{index}"
        glyphs = [_glyph(one, page, f"{name}_{place}") for place, one in enumerate(word.characters, 1)]
        content = {"ID": name, "CONTENT": word.text, "WC": f"{word.score:.4f}"}
        yield element("String", [_shape(word.quad), *glyphs], **content, **_place(box_of(word.quad, page)))


def _glyph(character: PlacedCharacter, page: Page, name: str) -> Element:
    content = {"ID": name, "CONTENT": character.text, "GC": f"{character.score:.4f}"}
    return element("Glyph", [_shape(character.quad)], **content, **_place(box_of(character.quad, page)))


def _shape(quad: Quad) -> Element:
    return element("Shape", [element("Polygon", POINTS=" ".join(f"{x},{y}" for x, y in points(quad)))])


def _place(box: Box) -> dict[str, int]:
    return {"HPOS": box.left, "VPOS": box.top, "WIDTH": box.width, "HEIGHT": box.height}


ALTO = Format(
    "application/alto+xml",
    "ALTO 4.2, pages with a block for each paragraph, lines and words, with level=char also of glyphs.",
    joined(write_page, write_document),
    words=True,
)
