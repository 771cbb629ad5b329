import numpy as np
import pytest
from made_images import encode
from PIL import Image

from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.decoding.paper import choose_paper


def glyphs(*colors, under=(0, 0, 0)):
    """Bars of these colours on nothing, RGBA; `under` is the colour that transparent pixels have."""
    pixels = np.full((20, 10 * len(colors), 4), (*under, 0), np.uint8)
    for index, color in enumerate(colors):
        pixels[5:15, 10 * index : 10 * index + 5] = (*color, 255)
    return Image.fromarray(pixels)


@pytest.mark.parametrize(
    ("colors", "paper"),
    [
        ([(0, 0, 0)], "white"),
        ([(255, 255, 255)], "black"),
        ([(255, 255, 0)], "black"),
        ([(200, 200, 200)], "black"),
        ([(120, 120, 120)], "white"),
        ([(255, 0, 0)], "white"),
        ([(255, 255, 255), (0, 0, 0)], "white"),
    ],
)
def test_paper_is_white_unless_nothing_would_show_on_it(colors, paper):
    assert choose_paper(glyphs(*colors)) == paper


@pytest.mark.parametrize("alpha", [0, 255])
def test_a_picture_of_nothing_but_paper_or_nothing_but_ink_is_on_white(alpha):
    assert choose_paper(Image.new("RGBA", (4, 4), (255, 255, 255, alpha))) == "white"


@pytest.mark.parametrize("under", [(0, 0, 0), (255, 255, 255)])
@pytest.mark.parametrize("color", [0, 255])
@pytest.mark.parametrize(("file_type", "options"), [("PNG", {}), ("WEBP", {"lossless": True, "exact": True})])
def test_glyphs_show_whatever_colour_lies_under_the_transparency(file_type, options, color, under):
    decoded = decode_page(encode(glyphs((color,) * 3, under=under), file_type, **options), DecodeLimits())
    assert decoded.picture.paper == ("black" if color else "white")
    assert (decoded.image[5:15, :5] == color).all()
    assert (decoded.image[:5] == 255 - color).all()


def test_the_choice_of_black_is_a_warning():
    warnings = decode_page(encode(glyphs((255, 255, 255)), "PNG"), DecodeLimits()).warnings
    assert [warning.code for warning in warnings] == ["black_paper"]


def test_a_picture_without_transparency_is_on_no_paper():
    decoded = decode_page(encode(Image.new("RGB", (4, 4), "white"), "PNG"), DecodeLimits())
    assert decoded.picture.paper is None
