import numpy as np
import pytest
from made_images import encode, quarters, with_orientation
from PIL import Image

from gateway.ocr.decoding.aspect import square_pixels
from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits

IMAGE = np.zeros((100, 200, 3), np.uint8)


@pytest.mark.parametrize(
    ("resolution", "shape"),
    [
        (None, (100, 200)),
        ((72, 72), (100, 200)),
        ((204, 196), (100, 200)),
        ((204, 98), (208, 200)),
        ((98, 204), (100, 416)),
        ((0, 98), (100, 200)),
        ((float("nan"), 98), (100, 200)),
        ((1000, 1), (100, 200)),
    ],
)
def test_pixels_become_square_where_the_resolution_is_believable(resolution, shape):
    image, warnings = square_pixels(IMAGE, resolution, DecodeLimits())
    assert image.shape[:2] == shape
    assert [warning.code for warning in warnings] == ([] if shape == (100, 200) else ["stretched"])


def test_an_image_that_would_be_too_large_stays_as_it_is():
    assert square_pixels(IMAGE, (204, 98), DecodeLimits(max_pixels=30_000))[0].shape[:2] == (100, 200)


@pytest.mark.parametrize("compression", ["group3", "group4"])
def test_a_fax_of_standard_resolution_has_its_height(compression):
    fax = encode(Image.new("1", (1728, 1075), 1), "TIFF", compression=compression, dpi=(204, 98))
    decoded = decode_page(fax, DecodeLimits())
    assert decoded.image.shape == (2238, 1728, 3)
    assert (decoded.picture.width, decoded.picture.height) == (1728, 1075)
    assert (decoded.image == 255).all()


def test_a_lying_fax_is_turned_before_it_is_stretched():
    lying = np.ascontiguousarray(np.rot90(quarters(32, 48)))
    decoded = decode_page(encode(lying, "TIFF", dpi=(98, 204), exif=with_orientation(6)), DecodeLimits())
    assert decoded.image.shape == (67, 48, 3)
