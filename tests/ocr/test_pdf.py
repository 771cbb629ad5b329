import numpy as np
import pytest
from made_images import encode
from made_pdf import pdf_with
from PIL import Image, ImageDraw

from gateway.errors import ImageTooLarge, UnreadableImage
from gateway.ocr.decoding.files import decode_page, inspect_file
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DocumentOptions

LIMITS = DecodeLimits()


def scan(*sizes, dpi=100):
    """A PDF whose pages are pictures with a black left upper quarter."""
    pages = [Image.new("RGB", size, "white") for size in sizes]
    for page in pages:
        ImageDraw.Draw(page).rectangle([0, 0, page.width // 2, page.height // 2], fill="black")
    return encode(pages[0], "PDF", save_all=True, append_images=pages[1:], resolution=dpi)


@pytest.mark.parametrize(("dpi", "shape"), [(50, (50, 100, 3)), (100, (100, 200, 3)), (200, (200, 400, 3))])
def test_a_page_is_drawn_at_the_resolution_that_is_asked_for(dpi, shape):
    decoded = decode_page(scan((200, 100)), LIMITS, 1, DocumentOptions(dpi=dpi))
    assert decoded.image.shape == shape
    assert decoded.image[shape[0] // 4, shape[1] // 4].tolist() == [0, 0, 0]
    assert decoded.image[-1, -1].tolist() == [255, 255, 255]
    assert decoded.picture.file_type == "PDF"
    assert decoded.warnings == ()


def test_every_page_has_its_own_size():
    data = scan((200, 100), (50, 300), (10, 10))
    assert inspect_file(data, LIMITS, DocumentOptions(dpi=100)).page_pixels == (20_000, 15_000, 100)
    third = decode_page(data, LIMITS, 3, DocumentOptions(dpi=100))
    assert third.image.shape == (10, 10, 3)
    assert third.picture.frames == 3


@pytest.mark.parametrize(("rotate", "black"), [(0, (0, 0)), (90, (0, 1)), (180, (1, 1)), (270, (1, 0))])
def test_a_page_is_turned_as_it_says(rotate, black):
    decoded = decode_page(pdf_with(b"0 0 0 rg 0 50 50 50 re f", rotate=rotate), LIMITS, 1, DocumentOptions(dpi=72))
    corners = decoded.image[[10, 10, -10, -10], [10, -10, 10, -10], 0].reshape(2, 2)
    assert np.argwhere(corners == 0).tolist() == [list(black)]
    assert decoded.picture.turned is (rotate != 0)


def test_a_page_that_is_too_large_is_drawn_coarser_and_says_so():
    data, limits = scan((2000, 1000)), DecodeLimits(max_pixels=500_000)
    decoded = decode_page(data, limits, 1, DocumentOptions(dpi=100))
    assert [warning.code for warning in decoded.warnings] == ["resolution_reduced"]
    assert 480_000 < decoded.image.shape[0] * decoded.image.shape[1] <= 500_000
    assert inspect_file(data, limits, DocumentOptions(dpi=100)).page_pixels[0] <= 500_000


def test_a_side_that_is_too_long_is_drawn_coarser_too():
    decoded = decode_page(scan((2000, 10)), DecodeLimits(max_side=1500), 1, DocumentOptions(dpi=100))
    assert 1490 < decoded.image.shape[1] <= 1500


def test_a_page_that_nobody_could_read_then_is_refused():
    data = pdf_with(b"", size=(14_400, 14_400))
    with pytest.raises(ImageTooLarge, match="40000 x 40000"):
        decode_page(data, LIMITS)
    with pytest.raises(ImageTooLarge):
        inspect_file(data, LIMITS)


def test_a_picture_that_would_be_large_is_refused_before_it_is_decoded():
    with pytest.raises(ImageTooLarge, match="the pictures on the page have 1024 MP; the limit is 200 MP"):
        decode_page(pdf_with(b"100 0 0 100 0 0 cm /X Do", picture=(32_000, 32_000)), LIMITS)


def test_what_is_filled_into_a_form_is_drawn():
    empty, filled = (decode_page(pdf_with(b"", field=text), LIMITS).image for text in ("", "Filled in"))
    assert (empty != filled).any()


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_pdf_that_was_cut_is_unreadable(share):
    data = scan((200, 100))
    with pytest.raises(UnreadableImage, match="the PDF is truncated or corrupt"):
        decode_page(data[: int(share * len(data))], LIMITS)


@pytest.mark.corpus
def test_a_password_is_named_as_what_is_missing(corpus):
    for function in (decode_page, inspect_file):
        with pytest.raises(UnreadableImage, match="protected by a password"):
            function((corpus / "odd" / "pdf_password.pdf").read_bytes(), LIMITS)
