"""Files from other projects' suites, each with its right answer; `make formats` shows them beside other readers."""

from pathlib import Path

import pytest

from loadtest.formats.gateway_side import ask
from loadtest.formats.odd_files import read_odd_files

pytestmark = [pytest.mark.e2e, pytest.mark.corpus, pytest.mark.timeout(600)]

FILES = read_odd_files(Path(__file__).parents[3] / "shared" / "corpus")

# Every file that is not served, and why.
REFUSED = {
    "text_named_jpg.jpg": "unreadable_image",
    "png_bad_colour_type.png": "unreadable_image",
    "zero_byte.jpg": "invalid_request",
    "html_named_png.png": "unsupported_image",
    "png_crlf_header.png": "unreadable_image",
    "gif_zero_width.gif": "unreadable_image",
    "pdf_password.pdf": "unreadable_image",
    "text_named_png.png": "unsupported_image",
    "jpeg_broken_mmocr.jpg": "unreadable_image",
    "png_truncated.png": "unreadable_image",
    "bmp_shortfile.bmp": "unreadable_image",
    "tiff_crash.tif": "unreadable_image",
    "jpeg_truncated.jpg": "unreadable_image",
    "png_unknown_compression.png": "unreadable_image",
    "psd_hopper.psd": "unsupported_image",
    "ico_multi.ico": "unsupported_image",
}


@pytest.mark.parametrize("file", FILES or [None], ids=lambda file: file.path.name if file else "no corpus")
def test_an_odd_file_gets_its_right_answer(corpus, gateway, file):
    answer = ask(gateway, file)
    assert answer.code == REFUSED.get(file.path.name, "")
    assert file.is_right(answer.status, answer.text), answer


def test_one_photo_in_every_orientation_says_the_same(corpus, gateway):
    """The files are eight photos of one scene, each with its own digit."""
    photos = [file for file in FILES if file.path.name.startswith("exif_landscape_")]
    assert len(photos) >= 5
    assert len({frozenset(ask(gateway, photo).text.split()) - set("12345678") for photo in photos}) == 1


def test_one_map_in_colour_cmyk_and_with_transparency_shows_the_same_places(corpus, gateway):
    maps = [file for file in FILES if file.path.name.startswith("baiona")]
    assert len(maps) == 3
    for file in maps:
        text = ask(gateway, file).text
        assert [word for word in file.words if word not in text] == []
