import pytest
from made_images import encode, quarters

from gateway.errors import UnsupportedImage
from gateway.ocr.decoding.formats import FileType, identify

SAVED_AS = {
    "JPEG": FileType.JPEG,
    "PNG": FileType.PNG,
    "WEBP": FileType.WEBP,
    "BMP": FileType.BMP,
    "TIFF": FileType.TIFF,
    "GIF": FileType.GIF,
    "HEIF": FileType.HEIC,
    "AVIF": FileType.AVIF,
    "JPEG2000": FileType.JPEG_2000,
    "PPM": FileType.PNM,
    "PDF": FileType.PDF,
}


@pytest.mark.parametrize(("saved_as", "file_type"), SAVED_AS.items())
def test_served_types_are_known_by_their_signature(saved_as, file_type):
    assert identify(encode(quarters(), saved_as)) is file_type


def test_a_type_is_known_however_little_follows_its_signature():
    assert identify(b"\xff\xd8\xff") is FileType.JPEG


def test_a_pdf_may_have_something_before_it():
    assert identify(b"\n\nsome text before %PDF-1.4") is FileType.PDF


def test_a_general_brand_leaves_the_codec_to_the_others():
    assert identify(b"\0\0\0\x1cftypmif1\0\0\0\0mif1heicmiaf") is FileType.HEIC
    assert identify(b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf") is FileType.AVIF


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the data is empty"),
        (b"\x00\x01\x02\x03", "of no known image type"),
        (b"\0\0\0\x20ftypisom\0\0\0\0", "looks like a video"),
        (b"\0\0\0\x14ftypmif1\0\0\0\0mif1", "looks like a video"),
        (b"\xff\x0a\xfa\x1f", "looks like a JPEG XL image"),
        (b"%!PS-Adobe-3.0", "looks like a PostScript file"),
        (b"AT&TFORM\0\0\0\x10DJVM", "looks like a DjVu document"),
        (b"https://example.org/a.png", "looks like an address; pictures are not fetched"),
        (b"P7 is no size of paper", "looks like plain text"),
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
    assert "JPEG, PNG, WebP, BMP, TIFF, GIF, HEIC, AVIF, JPEG 2000, PNM, PDF" in caught.value.detail
