import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.crops import crop_line, crop_widths
from gateway.ocr.portions import plan_portions


def line(width, height=48):
    return np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)


def portions(*widths, most=300):
    return plan_portions([line(width) for width in widths], line_height=48, max_pixels=48 * most)


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        ((), ()),
        ((100,), ((0,),)),
        ((200, 100), ((0, 1),)),
        ((200, 100, 150, 50), ((3, 1, 2), (0,))),
        ((100, 900, 100), ((0, 2), (1,))),
    ],
)
def test_a_page_that_fits_keeps_its_order_and_another_goes_by_width(widths, expected):
    assert portions(*widths) == expected


@given(st.lists(st.integers(1, 500), max_size=60))
def test_each_line_is_in_one_portion_and_none_has_too_many_pixels_but_for_a_single_line(widths):
    found = portions(*widths)
    assert sorted(index for portion in found for index in portion) == list(range(len(widths)))
    assert all(len(portion) == 1 or sum(widths[index] for index in portion) <= 300 for portion in found)


@given(st.floats(1, 3000), st.floats(1, 300))
def test_a_crop_is_as_wide_as_was_reckoned(width, height):
    quad, image = line(width, height), np.zeros((300, 300, 3), np.uint8)
    assert crop_line(image, quad, line_height=48).shape == (48, int(crop_widths(quad, line_height=48)), 3)
