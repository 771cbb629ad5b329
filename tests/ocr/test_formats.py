import io
import struct

import numpy as np
import pytest
from made_images import encode, quarters
from PIL import Image

from gateway.errors import UnsupportedImage
from gateway.ocr.formats import FORMATS, count_gif_frames, count_tiff_pages, identify

SAVED_AS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF")


def several(count, file_type):
    pictures = [Image.fromarray(np.roll(quarters(8, 8), index, axis=1)) for index in range(count)]
    return encode(pictures[0], file_type, save_all=True, append_images=pictures[1:])


def tiff_chain(*links, order="<", big=False):
    """Directories without entries, each of which names the offset of the next."""
    magic, entries, link = (43, "Q", "Q") if big else (42, "H", "I")
    head = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "H", magic)
    head += struct.pack(order + "HHQ", 8, 0, links[0]) if big else struct.pack(order + "I", links[0])
    return head + b"".join(struct.pack(order + entries, 0) + struct.pack(order + link, to) for to in links[1:])


@pytest.mark.parametrize("saved_as", SAVED_AS)
def test_served_types_are_known_by_their_signature(saved_as):
    assert identify(encode(quarters(), saved_as)).name.upper() == saved_as


def test_a_type_is_known_however_little_follows_its_signature():
    assert identify(b"\xff\xd8\xff").name == "JPEG"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the data is empty"),
        (b"\x00\x01\x02\x03", "of no known image type"),
        (b"%PDF-1.7\n", "looks like a PDF"),
        (b"\n\nsome text before %PDF-1.4", "looks like a PDF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "looks like a HEIC photo"),
        (b"\0\0\0\x20ftypavif\0\0\0\0", "looks like an AVIF image"),
        (b"\0\0\0\x20ftypisom\0\0\0\0", "looks like a video"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "looks like a JPEG 2000 image"),
        (b"8BPS\0\1", "looks like a Photoshop file"),
        (b"\0\0\1\0\1\0", "looks like an icon"),
        (b"PK\3\4\x14\0", "looks like a ZIP archive or an Office document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "looks like an old Office document"),
        (b"\x1f\x8b\x08", "looks like a gzip archive"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "looks like an SVG drawing"),
        (b"\n<!DOCTYPE HTML><html><body><svg></svg></body></html>", "looks like an HTML page"),
        (b"/9j/4AAQSkZJRgABAQ", "looks like base64 text"),
        (b"data:image/png;base64,iVBORw0KGgo", "looks like base64 text"),
        (b'{"image": "/9j/4AAQ"}', "looks like JSON"),
        (b"BMW is a car", "looks like plain text"),
        (b"RIFF\0\0\0\0WAVEfmt ", "of no known image type"),
    ],
)
def test_other_data_are_refused_with_what_they_look_like(data, words):
    with pytest.raises(UnsupportedImage, match=words) as caught:
        identify(data)
    assert "JPEG, PNG, WebP, BMP, TIFF, GIF" in caught.value.detail


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("saved_as", ["PNG", "WEBP", "TIFF", "GIF"])
def test_pages_and_frames_are_counted(saved_as, count):
    data = several(count, saved_as)
    image_format = identify(data)
    assert image_format.count_pictures(image_format.plugin(io.BytesIO(data)), data) == count


class TestTiffPages:
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("big", [False, True])
    def test_the_chain_is_followed_in_every_byte_order_and_width(self, order, big):
        first, step = (16, 16) if big else (8, 6)
        assert count_tiff_pages(None, tiff_chain(first, first + step, 0, order=order, big=big)) == 2

    def test_a_chain_in_a_circle_ends(self):
        assert count_tiff_pages(None, tiff_chain(8, 14, 8)) == 2

    def test_a_chain_that_leaves_the_file_ends_there(self):
        assert count_tiff_pages(None, tiff_chain(8, 1_000_000)) == 1

    def test_a_chain_without_end_is_cut(self):
        links = [8 + 6 * index for index in range(20_000)]
        assert count_tiff_pages(None, tiff_chain(*links)) == 10_000


class TestGifFrames:
    @pytest.mark.parametrize("cut", [6, 10, 13, 40])
    def test_data_that_end_early_count_as_one(self, cut):
        assert count_gif_frames(None, several(3, "GIF")[:cut]) == 1

    def test_blocks_without_end_are_cut(self):
        data = b"GIF89a" + bytes(7) + b"!\xfe\0" * 1_500_000 + several(1, "GIF")[13:]
        assert count_gif_frames(None, data) == 1


def test_names_of_formats_are_unique():
    assert len({image_format.name for image_format in FORMATS}) == len(FORMATS)
