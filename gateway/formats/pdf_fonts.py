"""Fonts for invisible text: each glyph is an empty box of one em, and what it means is said in Unicode.

Type 3 fonts (ISO 32000-1, 9.6.5) bring their glyphs with them, so nothing has to be embedded or installed for any
script. A font has 255 codes; there are as many fonts as the document has characters.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from gateway.formats.pdf_objects import PdfObjects, array, dictionary, number_of, reference

DESCENT = 0.2
"""How far the box reaches below the baseline, in em."""

CODES = 255
"""Of a font: 1 to 255."""

_MAPPINGS_AT_ONCE = 100
"""The longest list of mappings (Adobe Technical Note 5411)."""


T = TypeVar("T")


class InvisibleFonts:
    """Gives every character of a document a font and a code."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def encode(self, text: str) -> Iterator[tuple[str, bytes]]:
        """The text in stretches of one font: its name and the codes."""
        places = (divmod(self._places.setdefault(character, len(self._places)), CODES) for character in text)
        for font, stretch in groupby(places, key=lambda place: place[0]):
            yield f"F{font}", bytes(code + 1 for _, code in stretch)

    def write(self, objects: PdfObjects) -> bytes:
        """Add all fonts; a dictionary of them by name."""
        box = objects.add_stream(b"1000 0 0 %d 1000 %d d1" % (-1000 * DESCENT, 1000 - 1000 * DESCENT))
        fonts = enumerate(_blocks(list(self._places), CODES))
        return dictionary({f"F{number}": reference(_font(objects, box, characters)) for number, characters in fonts})


def _font(objects: PdfObjects, box: int, characters: Sequence[str]) -> int:
    count = len(characters)
    differences = array([b"1", *[b"/box"] * count])
    return objects.add(
        dictionary(
            {
                "Type": b"/Font",
                "Subtype": b"/Type3",
                "FontBBox": array([number_of(1000 * side) for side in (0, -DESCENT, 1, 1 - DESCENT)]),
                "FontMatrix": b"[0.001 0 0 0.001 0 0]",
                "CharProcs": dictionary({"box": reference(box)}),
                "Encoding": dictionary({"Type": b"/Encoding", "Differences": differences}),
                "FirstChar": b"1",
                "LastChar": number_of(count),
                "Widths": array([b"1000"] * count),
                "Resources": b"<< >>",
                "ToUnicode": reference(objects.add_stream(_to_unicode(characters))),
            }
        )
    )


def _to_unicode(characters: Sequence[str]) -> bytes:
    """The table from codes to Unicode (9.10.3)."""
    mappings = [
        b"<%02x> <%b>" % (code, character.encode("utf-16-be", "replace").hex().encode())
        for code, character in enumerate(characters, 1)
    ]
    blocks = [
        b"%d beginbfchar\n%b\nendbfchar" % (len(block), b"\n".join(block))
        for block in _blocks(mappings, _MAPPINGS_AT_ONCE)
    ]
    return b"\n".join(
        [
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
            b"/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def",
            b"/CMapName /Adobe-Identity-UCS def /CMapType 2 def",
            b"1 begincodespacerange <00> <ff> endcodespacerange",
            *blocks,
            b"endcmap CMapName currentdict /CMap defineresource pop end end",
        ]
    )


def _blocks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in their order, so many at once."""
    for first in range(0, len(values), size):
        yield values[first : first + size]
