import numpy as np
import pytest
from made_pdf import pdf_with

from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DocumentOptions

PAGE = (300, 200)


def layer_of(content, *, text_layer="prefer", dpi=72, **page):
    data = pdf_with(content, size=PAGE, **page)
    return decode_page(data, DecodeLimits(), 1, DocumentOptions(dpi, text_layer)).text_layer


def shown(text, x, y, *, mode=0):
    """Operators that write a text of 20 points; mode 3 is invisible."""
    return b"BT /F 20 Tf %d Tr 1 0 0 1 %d %d Tm (%s) Tj ET " % (mode, x, y, text)


def test_each_line_has_its_text_and_its_place():
    first, second = layer_of(shown(b"Hello, world", 20, 150) + shown(b"Total 48.00", 20, 100))
    assert (first.text, second.text) == ("Hello, world", "Total 48.00")
    left, top, right, bottom = first.box
    assert 18 <= left <= 24
    assert 30 <= top < bottom <= 56
    assert 100 < right < 140


def test_places_are_in_pixels_of_the_image_at_every_resolution():
    content = shown(b"Hello", 20, 150)
    [coarse], [fine] = layer_of(content), layer_of(content, dpi=144)
    assert np.allclose(np.array(coarse.box) * 2, fine.box, atol=2)


@pytest.mark.parametrize(("rotate", "place"), [(90, (44, 20)), (180, (180, 144)), (270, (130, 170))])
def test_places_turn_with_the_page(rotate, place):
    [line] = layer_of(shown(b"Hello", 20, 150), rotate=rotate)
    left, top, right, bottom = line.box
    assert right - left < bottom - top if rotate in (90, 270) else right - left > bottom - top
    decoded = decode_page(
        pdf_with(shown(b"Hello", 20, 150), size=PAGE, rotate=rotate), DecodeLimits(), 1, DocumentOptions(72)
    )
    ink = np.argwhere(decoded.image[..., 0] < 128)
    assert (ink.min(axis=0) >= np.array([top, left]) - 2).all()
    assert (ink.max(axis=0) <= np.array([bottom, right]) + 2).all()


def test_a_wide_gap_parts_columns():
    lines = layer_of(shown(b"left", 20, 150) + shown(b"right", 200, 150))
    assert [line.text for line in lines] == ["left", "right"]


def test_a_space_does_not():
    assert [line.text for line in layer_of(shown(b"left    right", 20, 150))] == ["left right"]


def test_text_that_cannot_be_seen_is_not_preferred():
    content = shown(b"seen", 20, 150) + shown(b"hidden", 20, 100, mode=3)
    assert [line.text for line in layer_of(content)] == ["seen"]
    assert [line.text for line in layer_of(content, text_layer="only")] == ["seen", "hidden"]


def test_by_default_there_is_none():
    assert layer_of(shown(b"Hello", 20, 150), text_layer="ignore") == ()


def test_a_page_of_pictures_has_none():
    assert layer_of(b"100 0 0 100 0 0 cm /X Do", text_layer="only") == ()
