"""The searchable PDF, as PDFium reads it: its text, where it is found and marked, and the picture."""

import ctypes

import numpy as np
import pypdfium2
import pypdfium2.raw
import pytest
from made_pages import CHINESE, COLUMN, EMPTY, FULL, LAYER, TURNED, inclined, line, page, quad, two_words, word, written

from gateway.formats.pdf import PDF
from gateway.ocr.elements import Space

POINTS_PER_PIXEL = 72 / 200


def opened(*pages):
    return pypdfium2.PdfDocument(written(PDF, *pages))


def text_of(*pages):
    document = opened(*pages)
    return [document[index].get_textpage().get_text_range().replace("\r\n", "\n") for index in range(len(document))]


def marked(given, place):
    """What is marked by dragging over a place, in pixels of the picture."""
    left, top, right, bottom = (POINTS_PER_PIXEL * side for side in place)
    height = POINTS_PER_PIXEL * given.height
    text_page = opened(given)[0].get_textpage()
    return text_page.get_text_bounded(left, height - bottom, right, height - top)


@pytest.mark.parametrize("given", [EMPTY, page(two_words()), page(CHINESE), page(TURNED), page(LAYER), FULL])
def test_the_text_is_the_pages_text(given):
    [text] = text_of(given)
    assert text.split() == given.text.split()


def test_every_page_is_there_with_its_own_text():
    assert text_of(page(two_words()), EMPTY, page(CHINESE)) == ["Hello, <wörld>", "", "你好。"]


def test_text_from_top_to_bottom_is_read_in_its_order():
    assert text_of(page(COLUMN)) == ["直书"]


ANGLES = (0, 7, 45, 90, 180, 270, 353)


def inclined_page(degrees):
    """Two words of Latin and three of Chinese, on one line, turned."""
    places = [(20, 90, 60, 110), (70, 90, 110, 110), (120, 90, 140, 110), (140, 90, 160, 110), (160, 90, 180, 110)]
    quads = [inclined(*place, degrees) for place in places]
    spaces = (Space.NONE, Space.READ, Space.READ, Space.NONE, Space.NONE)
    words = [word(text, its, 0.9, space) for text, its, space in zip(WORDS, quads, spaces, strict=True)]
    return page(line(inclined(20, 90, 180, 110, degrees), *words), height=200), quads


WORDS = ("turned", "text", "你", "好", "吗")


@pytest.mark.parametrize("degrees", ANGLES)
def test_inclined_text_is_the_pages_text(degrees):
    given, _ = inclined_page(degrees)
    assert text_of(given)[0].split() == ["turned", "text", "你好吗"]


@pytest.mark.parametrize("degrees", ANGLES)
def test_each_word_of_inclined_text_begins_where_it_is_seen(degrees):
    given, quads = inclined_page(degrees)
    text_page = opened(given)[0].get_textpage()
    text = text_page.get_text_range()
    for one, its in zip(WORDS, quads, strict=True):
        baseline = 0.8 * its[3] + 0.2 * its[0]
        np.testing.assert_allclose(origin(text_page, text.index(one)), baseline, atol=0.5)


def origin(text_page, index):
    """Where the pen stands to write a character, in pixels of a picture 200 high."""
    x, y = ctypes.c_double(), ctypes.c_double()
    assert pypdfium2.raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value / POINTS_PER_PIXEL, 200 - y.value / POINTS_PER_PIXEL


def test_gaps_between_ideographs_are_no_spaces():
    places = [quad(20 * number, 60, 20 * number + 8, 80) for number in range(8)]
    assert text_of(page(line(quad(0, 60, 150, 80), *map(word, "觀自在菩薩行深照", places)))) == ["觀自在菩薩行深照"]


@pytest.mark.parametrize(
    ("given", "place", "text"),
    [
        (page(two_words()), (8, 18, 72, 42), "Hello,"),
        (page(two_words()), (78, 18, 132, 42), "<wörld>"),
        (page(CHINESE), (8, 58, 31, 82), "你"),
        (page(TURNED), (138, 58, 192, 82), "upside"),
        (page(COLUMN), (173, 33, 197, 57), "书"),
    ],
)
def test_a_word_is_marked_where_it_is_seen(given, place, text):
    assert marked(given, place).strip() == text


def test_nothing_is_marked_where_nothing_is_seen():
    assert marked(page(two_words()), (8, 45, 132, 100)) == ""


def test_letters_stand_side_by_side_on_their_word():
    text_page = opened(page(two_words()))[0].get_textpage()
    boxes = [np.array(text_page.get_charbox(index, loose=True)) / POINTS_PER_PIXEL for index in range(len("Hello,"))]
    np.testing.assert_allclose([box[[0, 2]] for box in boxes], [(10 + 10 * n, 20 + 10 * n) for n in range(6)], atol=0.1)
    np.testing.assert_allclose([box[[1, 3]] for box in boxes], [(60, 80)] * 6, atol=0.1)  # from below


def test_the_picture_is_all_that_is_seen():
    given = page(two_words())
    given.image[20:40, 10:70] = (200, 30, 60)
    seen = opened(given)[0].render(scale=1 / POINTS_PER_PIXEL).to_numpy()
    assert seen.shape[:2] == (100, 200)
    assert np.abs(seen.astype(int) - given.image).mean() < 2


def test_a_page_is_as_large_as_its_resolution_makes_it_and_never_larger_than_readers_take():
    assert opened(page())[0].get_size() == (72.0, 36.0)
    assert opened(page(width=60000, height=10))[0].get_width() == pytest.approx(14400)


def test_a_document_may_have_more_characters_than_a_font():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 600)))
    assert text_of(page(line(quad(0, 0, 6000, 20), word(text, quad(0, 0, 6000, 20))), width=6000)) == [text]


def test_characters_beyond_the_first_plane_and_halves_of_them_do_no_harm():
    text = "a𝄞b\ud800c"
    assert text_of(page(line(quad(0, 0, 100, 20), word(text, quad(0, 0, 100, 20)))))[0].startswith("a𝄞b")


def test_the_document_says_who_made_it():
    metadata = opened(EMPTY).get_metadata_dict()
    assert metadata["Producer"] == "ocr-gateway 1.2.3, ppocrv6-small"
    assert metadata["CreationDate"] == "D:20261130123000Z"
