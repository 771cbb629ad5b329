import cv2
import numpy as np
import pytest
from made_images import encode

from gateway.ocr.decoding.depth import used_bits
from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits

LIMITS = DecodeLimits()


@pytest.mark.parametrize(
    ("highest", "bits"),
    [
        (0, 16),
        (1, 8),
        (255, 8),
        (256, 10),
        (1023, 10),
        (1024, 12),
        (4095, 12),
        (16_383, 14),
        (16_384, 16),
        (65_535, 16),
    ],
)
def test_the_highest_sample_tells_the_bits(highest, bits):
    assert used_bits(np.array([[0, highest]], np.uint16)) == bits


@pytest.mark.parametrize("bits", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("file_type", ["PNG", "TIFF"])
def test_a_grey_scan_is_as_light_as_it_was_whatever_its_bits(file_type, bits):
    scan = np.array([[0, 1 << (bits - 1), (1 << bits) - 1]], np.uint16)
    decoded = decode_page(encode(scan, file_type), LIMITS)
    assert decoded.image[0, :, 0].tolist() == [0, 128, 255]
    assert [warning.code for warning in decoded.warnings] == ([] if bits == 16 else ["depth_guessed"])


def test_samples_of_a_pnm_are_not_stretched():
    scan = np.array([[20_000, 40_000]], ">u2")
    decoded = decode_page(b"P5 2 1 65535\n" + scan.tobytes(), LIMITS)
    assert decoded.image[0, :, 0].tolist() == [78, 156]


@pytest.mark.parametrize("bits", [12, 16])
@pytest.mark.parametrize("file_type", [".png", ".tif"])
def test_a_colour_scan_keeps_its_colours_whatever_its_bits(file_type, bits):
    low, high = 1 << (bits - 2), (1 << bits) - 1
    scan = np.array([[(0, low, high), (high, 0, low)]], np.uint16)
    decoded = decode_page(cv2.imencode(file_type, scan)[1].tobytes(), LIMITS)
    assert decoded.picture.mode == "RGB;16"
    assert decoded.image[0].tolist() == [[0, 64, 255], [255, 0, 64]]


def test_colours_of_16_bits_with_transparency_are_on_paper():
    scan = np.array([[(0, 0, 65_535, 65_535), (0, 0, 0, 0)]], np.uint16)
    decoded = decode_page(cv2.imencode(".png", scan)[1].tobytes(), LIMITS)
    assert decoded.picture.paper == "white"
    assert decoded.image[0].tolist() == [[0, 0, 255], [255, 255, 255]]
