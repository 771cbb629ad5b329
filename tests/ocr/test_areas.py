import re

import numpy as np
import pytest

from gateway.ocr.areas import SYNTAX, Area, Areas
from gateway.ocr.elements import LayerLine, TextRegion


def region(left, top, right, bottom):
    quad = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    return TextRegion(quad, quad, 0.9)


FIRST, SECOND = region(0, 0, 100, 20), region(0, 40, 100, 60)


def test_areas_are_four_numbers_each():
    areas = Areas.parse("1,2,3,4;50,60,70,80", "")
    assert areas == Areas((Area(1, 2, 3, 4), Area(50, 60, 70, 80)), ())


@pytest.mark.parametrize("text", ["", "1,2,3", "1,2,0,4", "1,2,3,0", "-1,2,3,4", "1,2,3,4;", "1, 2, 3, 4", "a,b,c,d"])
def test_the_syntax_takes_nothing_else(text):
    assert not re.match(SYNTAX, text)


@pytest.mark.parametrize(
    ("wanted", "ignored", "taken"),
    [
        ("", "", [FIRST, SECOND]),
        ("0,0,200,30", "", [FIRST]),
        ("0,0,200,30;0,30,200,200", "", [FIRST, SECOND]),
        ("", "0,0,200,30", [SECOND]),
        ("0,0,200,200", "0,30,200,200", [FIRST]),
        ("0,11,200,200", "", [SECOND]),  # the middle of the first one is a pixel above
        ("0,0,50,200", "", []),  # the right edge is not part of an area
        ("0,0,51,200", "", [FIRST, SECOND]),
    ],
)
def test_a_line_is_where_its_middle_is(wanted, ignored, taken):
    found = Areas.parse(wanted, ignored).take([FIRST, SECOND])
    assert [id(one) for one in found] == [id(one) for one in taken]


def test_a_files_own_text_is_chosen_likewise():
    lines = (LayerLine("one", (0, 0, 100, 20)), LayerLine("two", (0, 40, 100, 60)))
    assert Areas.parse("0,0,200,30", "").take_layer(lines) == lines[:1]


def test_no_areas_choose_nothing():
    assert not Areas()
    assert Areas.parse("", "0,0,1,1")
