"""Pieces of XML that are put together later."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

from gateway.arrays import Quad

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (2.2) can't carry, in any way of writing."""

REPLACEMENT = "\ufffd"


def element(tag: str, children: Iterable[Element] = (), **attributes: object) -> Element:
    """An element; a last underscore of an attribute's name is left out, as in `class_`."""
    made = Element(tag, {name.rstrip("_"): clean(str(one)) for name, one in attributes.items()})
    made.extend(children)
    return made


def text_element(tag: str, text: str, **attributes: object) -> Element:
    """An element that holds text, likewise."""
    made = element(tag, (), **attributes)
    made.text = clean(text)
    return made


def clean(text: str) -> str:
    """The text, with a replacement for what XML can't carry."""
    return _FORBIDDEN.sub(REPLACEMENT, text)


def written(made: Element) -> bytes:
    """The element's text."""
    return tostring(made, encoding="unicode").encode() + b"\n"


def points(quad: Quad) -> list[tuple[int, int]]:
    """Corners in whole pixels, none negative."""
    rounded: list[tuple[int, int]] = [(max(0, round(float(x))), max(0, round(float(y)))) for x, y in quad]
    return rounded
