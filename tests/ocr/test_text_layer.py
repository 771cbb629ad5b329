import numpy as np

from gateway.ocr.elements import LayerLine, TextLine, TextRegion, Transcription
from gateway.ocr.text_layer import uncovered, with_layer

LAYER = (LayerLine("first", (10, 10, 110, 30)), LayerLine("third", (10, 90, 60, 110)))


def region(left, top, right, bottom):
    quad = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    return TextRegion(quad, quad, 0.9)


def test_a_region_where_the_layer_has_text_is_not_read():
    same, half, beside = region(8, 8, 112, 32), region(60, 10, 180, 30), region(200, 10, 300, 30)
    assert uncovered((same, half, beside), LAYER) == (half, beside)


def test_a_region_over_several_texts_of_the_layer_is_covered_by_all_of_them():
    words = (LayerLine("a", (0, 0, 40, 20)), LayerLine("b", (50, 0, 90, 20)))
    assert uncovered((region(0, 0, 100, 20),), words) == ()


def test_without_a_layer_everything_is_read():
    regions = (region(0, 0, 9, 9),)
    assert uncovered(regions, ()) == regions
    assert uncovered((), LAYER) == ()


def test_both_kinds_of_line_stand_in_reading_order():
    read = TextLine(region(10, 50, 90, 70), Transcription("second", 0.8))
    lines = with_layer((read,), LAYER)
    assert [(line.transcription.text, line.source) for line in lines] == [
        ("first", "text_layer"),
        ("second", "ocr"),
        ("third", "text_layer"),
    ]
    assert lines[0].transcription.score == lines[0].region.score == 1.0
    assert lines[0].region.quad.tolist() == [[10, 10], [110, 10], [110, 30], [10, 30]]


def test_without_a_layer_the_order_is_left_alone():
    lines = (TextLine(region(0, 90, 9, 99)), TextLine(region(0, 0, 9, 9)))
    assert with_layer(lines, ()) is lines
