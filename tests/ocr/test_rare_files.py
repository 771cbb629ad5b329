"""What few programs write is read as it is meant, without a warning; what nobody decodes is an error that says so."""

import numpy as np
import pytest
from made_images import quarters
from rare_files import interlaced_png, lossless_jpeg, ycck_jpeg

from gateway.errors import UnreadableImage
from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits

NOISE = np.random.default_rng(0).integers(0, 256, (13, 17, 3), np.uint8)
GREY = NOISE[..., :1].repeat(3, axis=2)


@pytest.mark.parametrize(
    ("data", "rgb"),
    [
        (interlaced_png(NOISE), NOISE),
        (interlaced_png(NOISE[:1, :1]), NOISE[:1, :1]),
        (lossless_jpeg(NOISE), NOISE),
        (lossless_jpeg(NOISE[..., 0]), GREY),
    ],
    ids=["interlaced PNG", "interlaced PNG of one pixel", "lossless JPEG", "lossless grey JPEG"],
)
def test_it_is_read_to_the_last_bit(data, rgb):
    decoded = decode_page(data, DecodeLimits())
    assert (decoded.image[..., ::-1] == rgb).all()
    assert decoded.warnings == ()


def test_the_inks_of_a_ycck_jpeg_become_its_colours():
    """Luma and chroma of inverted inks, as print shops send them."""
    decoded = decode_page(ycck_jpeg(quarters()), DecodeLimits())
    assert decoded.picture.mode == "CMYK"
    assert np.abs(decoded.image[..., ::-1].astype(int) - quarters()).max() <= 8
    assert decoded.warnings == ()


def test_a_jpeg_of_more_bits_than_can_be_decoded_is_an_error_that_says_so():
    data = lossless_jpeg(NOISE).replace(b"\xff\xc3\0\x11\x08", b"\xff\xc3\0\x11\x0c")
    with pytest.raises(UnreadableImage, match="12-bit"):
        decode_page(data, DecodeLimits())
