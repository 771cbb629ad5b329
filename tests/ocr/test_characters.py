import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.characters import place_characters
from gateway.ocr.elements import Character


def crop_with(*bars, width=160, paper=255, ink=0):
    """A line of 48 pixels with bars from one column up to another, half as high as the line."""
    crop = np.full((48, width, 3), paper, np.uint8)
    for left, right in bars:
        crop[12:36, left:right] = ink
    return crop


def at(*steps):
    return [Character("x", 0.9, step) for step in steps]


def test_without_characters_nothing_is_placed():
    assert place_characters(crop_with(), []).shape == (0, 2)


@pytest.mark.parametrize(("paper", "ink"), [(255, 0), (0, 255), (90, 160)])
def test_characters_end_where_their_ink_ends(paper, ink):
    crop = crop_with((20, 32), (38, 50), (80, 95), paper=paper, ink=ink)
    columns = place_characters(crop, at(3, 5, 11))
    np.testing.assert_array_equal(columns, [[20, 32], [38, 50], [80, 95]])


def test_a_peak_that_is_half_a_step_late_makes_no_difference():
    crop = crop_with((20, 32), (38, 50))
    np.testing.assert_array_equal(place_characters(crop, at(3.5, 5.5)), [[20, 32], [38, 50]])


def test_touching_characters_part_halfway():
    columns = place_characters(crop_with((20, 60)), at(3.25, 6.75))  # peaks over 28 and 56
    np.testing.assert_array_equal(columns, [[20, 42], [42, 60]])


def test_touching_characters_part_where_the_ink_is_thinnest():
    crop = crop_with((20, 38), (40, 60))
    crop[30:36, 38:40] = 0
    columns = place_characters(crop, at(3.25, 6.25))
    assert 38 <= columns[0, 1] == columns[1, 0] <= 40


def test_a_gap_inside_a_character_is_part_of_it():
    crop = crop_with((20, 28), (32, 40), (60, 80))
    np.testing.assert_array_equal(place_characters(crop, at(3.5, 8.5)), [[20, 40], [60, 80]])


def test_a_mark_that_touches_the_letter_before_it_gets_a_part_of_its_ink():
    first, mark = place_characters(crop_with((20, 44), (80, 100)), at(3.5, 5.25, 11))[:2]
    assert first[0] == 20
    assert mark[1] == 44
    assert first[1] == mark[0] == 37  # halfway between the peaks over 30 and 44


def test_a_stain_further_off_than_a_line_height_is_no_part_of_a_character():
    np.testing.assert_array_equal(place_characters(crop_with((20, 30), (150, 156)), at(3)), [[20, 30]])


def test_on_a_blank_line_characters_stand_around_their_peaks():
    np.testing.assert_array_equal(place_characters(crop_with(width=80), at(2, 6)), [[0, 34], [34, 80]])


@given(
    st.lists(st.floats(0, 30), min_size=1, max_size=12).map(sorted),
    st.lists(st.tuples(st.integers(0, 150), st.integers(1, 10)), max_size=8),
)
def test_whatever_is_written_each_character_has_columns_in_order(steps, bars):
    crop = crop_with(*((left, left + length) for left, length in bars))
    columns = place_characters(crop, at(*steps))
    assert (columns[:, 0] < columns[:, 1]).all()
    assert (columns[:, 0] >= 0).all()
    assert (columns[:, 1] <= 160).all()
    assert (np.diff(columns.mean(axis=1)) >= 0).all()
