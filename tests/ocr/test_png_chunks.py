import pytest
from made_images import encode, png_chunk, quarters

from gateway.errors import UnreadableImage
from gateway.ocr.decoding.files import decode_page, inspect_file
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.decoding.opencv import decode_deep, decode_plain
from gateway.ocr.decoding.png import check_chunks, is_cut_off

PNG = encode(quarters(), "PNG")
TEXT = png_chunk(b"tEXt", b"a\0b")


def with_chunks(chunks):
    """The file with these chunks behind its header."""
    return PNG[:33] + chunks + PNG[33:]


def test_a_common_file_passes():
    check_chunks(PNG)
    check_chunks(with_chunks(TEXT * 190))
    assert decode_page(with_chunks(TEXT * 190), DecodeLimits()).image.shape == (32, 48, 3)


@pytest.mark.parametrize("chunks", [TEXT * 300, png_chunk(b"IDAT", b"") * 20_000])
def test_too_many_chunks_are_refused_before_any_decoder_walks_them(chunks):
    for function in (decode_page, inspect_file):
        with pytest.raises(UnreadableImage, match="the PNG has more than"):
            function(with_chunks(chunks), DecodeLimits())


@pytest.mark.parametrize("data", [b"", b"\x89PNG", PNG[:40], PNG[:33] + b"\xff\xff\xff\xffabcd"])
def test_a_file_that_ends_early_is_left_to_the_decoders(data):
    check_chunks(data)


@pytest.mark.parametrize("data", [PNG[:-20], PNG[:33] + b"\xff\xff\x09\x23IDAT" + PNG[41:]])
def test_opencv_does_not_get_a_file_that_ends_in_the_middle_of_a_chunk(data):
    """It makes room for what a chunk claims, which may be 4 GB."""
    assert is_cut_off(data)
    assert decode_plain(data) is decode_deep(data) is None


def test_what_follows_the_last_chunk_is_none():
    assert not is_cut_off(PNG)
    assert not is_cut_off(PNG + b"\xff\xff\xff\xffabcd")
    assert decode_plain(PNG + b"more") is not None
