"""A searchable PDF: each page is its picture with the text over it, invisible, word for word in its place.

Each word is set in glyphs as wide as the word divided by their number and as high as its line, along its quad, so that
it is found and marked where it is seen, whichever way it runs.

A line that is not level, or on its head, is set in one piece for each font: PDFium takes every new start to the left
for a step back, and would turn its words round, and every one further down for a new line. It does so even now where
such a line needs two fonts, in a document of more than 255 different characters.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Image, Quad
from gateway.formats.boxes import has_space_before, read_lines, words_of
from gateway.formats.format import About, Format
from gateway.formats.pdf_fonts import DESCENT, InvisibleFonts
from gateway.formats.pdf_objects import PdfObjects, array, dictionary, number_of, reference, text_of
from gateway.ocr.elements import Page, Word
from gateway.ocr.geometry import quad_size

POINTS_PER_INCH = 72

MAX_SIDE_POINTS = 14400
"""The longest side of a page that readers must take (ISO 32000-1, annex C)."""

JPEG_QUALITY = 85


@dataclass(frozen=True, slots=True)
class Stretch:
    """Text that is set in glyphs of one width.

    Attributes:
        text: a word, and the space after it if there is one.
        quad: the word's.
        letters: how many glyphs the quad holds.
    """

    text: str
    quad: Quad
    letters: int

    @property
    def advance(self) -> float:
        """The width of a glyph, in pixels."""
        return float(quad_size(self.quad)[0]) / self.letters


class PdfWriter:
    """Writes one document."""

    def __init__(self, about: About) -> None:
        self._about = about
        self._objects = PdfObjects()
        self._fonts = InvisibleFonts()
        self._tree = self._objects.reserve()
        self._font_list = self._objects.reserve()
        self._pages: list[bytes] = []

    def add(self, page: Page, _: int) -> None:
        """Write a page, whose image must be there."""
        assert page.image is not None, "the format asks for images"
        scale = min(POINTS_PER_INCH / self._about.dpi, MAX_SIDE_POINTS / max(page.width, page.height))
        size = [number_of(scale * side) for side in (page.width, page.height)]
        picture = self._picture(page.image)
        content = b"\n".join([b"q %b 0 0 %b 0 0 cm /Picture Do Q" % tuple(size), *self._text(page, scale)])
        resources = {"XObject": dictionary({"Picture": reference(picture)}), "Font": reference(self._font_list)}
        entries = {
            "Type": b"/Page",
            "Parent": reference(self._tree),
            "MediaBox": array([b"0", b"0", *size]),
            "Resources": dictionary(resources),
            "Contents": reference(self._objects.add_stream(content)),
        }
        self._pages.append(reference(self._objects.add(dictionary(entries))))

    def finish(self) -> bytes:
        """The file."""
        tree = {"Type": b"/Pages", "Kids": array(self._pages), "Count": number_of(len(self._pages))}
        self._objects.put(self._tree, dictionary(tree))
        self._objects.put(self._font_list, self._fonts.write(self._objects))
        root = self._objects.add(dictionary({"Type": b"/Catalog", "Pages": reference(self._tree)}))
        created = f"(D:{self._about.created:%Y%m%d%H%M%S}Z)".encode()
        info = {"Producer": text_of(f"{self._about.software}, {self._about.model_set}"), "CreationDate": created}
        return self._objects.finish(root=root, info=self._objects.add(dictionary(info)))

    def _picture(self, image: Image) -> int:
        height, width = image.shape[:2]
        _, jpeg = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        entries = {
            "Type": b"/XObject",
            "Subtype": b"/Image",
            "Width": number_of(width),
            "Height": number_of(height),
            "ColorSpace": b"/DeviceRGB",
            "BitsPerComponent": b"8",
            "Filter": b"/DCTDecode",
        }
        return self._objects.add_stream(jpeg.tobytes(), entries, compress=False)

    def _text(self, page: Page, scale: float) -> Iterator[bytes]:
        yield b"BT"
        for line in read_lines(page):
            stretches = _stretches(words_of(line))
            if _runs_right(line.region.quad):
                for stretch in stretches:
                    yield from self._set(stretch, scale, page.height)
            else:
                yield from self._set_as_one(stretches, scale, page.height)
        yield b"ET"

    def _set(self, stretch: Stretch, scale: float, page_height: int) -> Iterator[bytes]:
        yield _text_matrix(stretch.quad, stretch.advance, scale, page_height)
        for font, codes in self._fonts.encode(stretch.text):
            yield b"/%b 1 Tf <%b> Tj" % (font.encode(), codes.hex().encode())

    def _set_as_one(self, stretches: Sequence[Stretch], scale: float, page_height: int) -> Iterator[bytes]:
        """A line in one piece for each font: glyphs as wide as the widest, each moved back to its place."""
        first = stretches[0].quad
        em = max(stretch.advance for stretch in stretches)
        yield _text_matrix(first, em, scale, page_height)
        at = 0.0
        for font, glyphs in groupby(self._glyphs(stretches), key=lambda glyph: glyph[0]):
            pieces = []
            for _, code, place in glyphs:
                pieces.append(b"%b <%b>" % (number_of(1000 * (at - place) / em), code.hex().encode()))
                at = place + em
            yield b"/%b 1 Tf [%b] TJ" % (font.encode(), b" ".join(pieces))

    def _glyphs(self, stretches: Sequence[Stretch]) -> Iterator[tuple[str, bytes, float]]:
        """Font, code, and how far along the line each glyph stands, in pixels."""
        first = stretches[0].quad
        along = _unit(first[2] - first[3])
        for stretch in stretches:
            start = float((stretch.quad[3] - first[3]) @ along)
            for index, character in enumerate(stretch.text):
                for font, code in self._fonts.encode(character):
                    yield font, code, start + index * stretch.advance


def _stretches(words: Sequence[Word]) -> list[Stretch]:
    """The words of a line, each with the space after it, or drawn out to the next if there is none.

    Readers take a gap for a space, and between ideographs there are gaps.
    """
    stretches = []
    for word, after in zip(words, (*words[1:], None), strict=True):
        if after is None or has_space_before(after):
            stretches.append(Stretch(word.text + " " * (after is not None), word.quad, len(word.text)))
        else:
            stretches.append(Stretch(word.text, _drawn_out(word.quad, after.quad), len(word.text)))
    return stretches


def _drawn_out(quad: Quad, following: Quad) -> Quad:
    """A quad that ends where the following one begins."""
    return np.stack([quad[0], following[0], following[3], quad[3]])


def _runs_right(quad: Quad) -> bool:
    """Whether text is level, more or less, and not on its head."""
    x, y = (quad[1] - quad[0]).tolist()
    return bool(x >= abs(y))


def _unit(vector: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The vector with a length of one; zero stays zero."""
    unit: NDArray[np.float64] = vector.astype(np.float64) / max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
    return unit


def _text_matrix(quad: Quad, em: float, scale: float, page_height: int) -> bytes:
    """What sets the text matrix: an em along the quad, one up it, and where its baseline begins, in points."""
    corners = quad.astype(np.float64)
    corners[:, 1] = page_height - corners[:, 1]
    top_left, _, bottom_right, bottom_left = scale * corners
    up = top_left - bottom_left
    matrix = np.array([scale * em * _unit(bottom_right - bottom_left), up, bottom_left + DESCENT * up])
    return b"%b Tm" % b" ".join(number_of(value) for value in matrix.ravel().tolist())


PDF = Format(
    "application/pdf",
    "The pages' pictures with the text over them, invisible, to search and to copy.",
    PdfWriter,
    words=True,
    image=True,
)
