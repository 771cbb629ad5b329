import numpy as np
import pytest

from loadtest.boxes.drawn import Glyph, draw_line, latin_font
from loadtest.boxes.overlap import iou, overlap

SQUARE = np.array([[0, 0], [10, 0], [10, 10], [0, 10]], np.float64)


def moved(pixels):
    return SQUARE + np.array((pixels, 0))


@pytest.mark.parametrize(
    ("other", "expected"),
    [(SQUARE, 1.0), (SQUARE[[2, 3, 0, 1]], 1.0), (moved(5), 1 / 3), (moved(20), 0.0), (SQUARE / 2, 0.25)],
)
def test_the_overlap_of_quads(other, expected):
    assert iou(SQUARE, other) == pytest.approx(expected)


def test_what_was_not_read_is_counted_and_the_rest_matched():
    drawn = [Glyph(text, SQUARE) for text in "abcd"]
    found = overlap(drawn, [Glyph("a", SQUARE), Glyph("x", SQUARE), Glyph("c", moved(5))])
    assert found.ious == (1.0, pytest.approx(1 / 3))
    assert found.missing == 2


@pytest.mark.parametrize("degrees", [0, 7, 90, 180])
def test_glyphs_are_where_the_picture_has_its_ink(degrees):
    drawing = draw_line("a b", latin_font(32), degrees=degrees)
    assert [glyph.text for glyph in drawing.glyphs] == ["a", "b"]
    assert [word.text for word in drawing.words] == ["a", "b"]
    ink = np.argwhere(drawing.pixels.mean(axis=2) < 140)[:, ::-1] + 0.5
    corners = np.concatenate([glyph.quad for glyph in drawing.glyphs])
    assert np.abs(corners.min(axis=0) - ink.min(axis=0)).max() < 5
    assert np.abs(corners.max(axis=0) - ink.max(axis=0)).max() < 5


def test_upside_down_text_begins_on_the_right():
    first, second = draw_line("ab", latin_font(32), degrees=180).glyphs
    assert first.quad[0, 0] > second.quad[0, 0]
    assert first.quad[0, 1] > first.quad[3, 1]
