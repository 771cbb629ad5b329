import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.ocr.reading_order import reading_order


def box(left, top, width, height=20):
    return np.array([[left, top], [left + width, top], [left + width, top + height], [left, top + height]], np.float32)


def rotated(quads, degrees, about=(400, 300)):
    """The quads turned clockwise about a point."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return [((quad - about) @ turn.T + about).astype(np.float32) for quad in quads]


# A form: rows of three cells, in reading order.
FORM = [box(40 + 260 * column, 50 + 40 * row, 200) for row in range(12) for column in range(3)]


def test_no_lines_have_no_order():
    assert reading_order([]) == []


@pytest.mark.parametrize(
    ("quads", "order"),
    [
        ([box(0, 0, 50)], [0]),
        ([box(0, 100, 50), box(0, 0, 50)], [1, 0]),
        ([box(100, 0, 50), box(0, 0, 50)], [1, 0]),
        ([box(100, 0, 50), box(0, 8, 50)], [1, 0]),  # half a line lower is the same row
        ([box(100, 0, 50), box(0, 12, 50)], [0, 1]),  # more is the next
        ([box(100, 12, 6, 6), box(0, 0, 90)], [1, 0]),  # a full stop behind its line
        ([box(0, 0, 60, 40), box(100, 12, 60)], [0, 1]),  # small text beside large
        ([box(0, 0, 0, 0), box(0, 0, 0, 0)], [0, 1]),
    ],
)
def test_rows_go_down_and_lines_of_a_row_go_right(quads, order):
    assert reading_order(quads) == order


@pytest.mark.parametrize("degrees", [-30, -12, -3, 0, 3, 12, 30])
def test_a_skewed_page_is_read_along_its_lines(degrees):
    assert reading_order(rotated(FORM, degrees)) == list(range(len(FORM)))


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
@pytest.mark.parametrize("skew", [-5, 0, 5])
def test_a_turned_page_is_read_in_its_own_frame(turned, skew):
    assert reading_order(rotated(FORM, skew - turned), turned) == list(range(len(FORM)))


def test_columns_of_vertical_text_are_read_from_right_to_left():
    columns = [box(600 - 60 * column, 50, 20, 400) for column in range(5)]
    assert reading_order(columns, turned=270) == [0, 1, 2, 3, 4]


def test_a_tall_box_beside_the_text_joins_one_row_only():
    text = [box(100, 40 * row, 300) for row in range(8)]
    tall = box(0, 0, 20, 300)
    order = reading_order([*text, tall])
    assert [index for index in order if index < len(text)] == list(range(len(text)))


def test_a_few_stray_angles_do_not_skew_a_page():
    stray = rotated([box(300, 560, 120)], 35, about=(360, 570))
    assert reading_order([*FORM, *stray]) == list(range(len(FORM) + 1))


@pytest.mark.parametrize("first_corner", [1, 2, 3])
def test_the_corner_at_which_a_quad_starts_does_not_matter(first_corner):
    quads = [np.roll(quad, first_corner, axis=0) for quad in rotated(FORM, 7)]
    assert reading_order(quads) == list(range(len(FORM)))


QUADS = st.lists(
    st.builds(box, st.integers(0, 500), st.integers(0, 500), st.integers(1, 300), st.integers(1, 60)), max_size=25
)


@settings(deadline=None)
@given(QUADS, st.sampled_from([0, 90, 180, 270]), st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_input(quads, turned, random):
    shuffled = random.sample(quads, len(quads))
    first = [quads[index].tolist() for index in reading_order(quads, turned)]
    second = [shuffled[index].tolist() for index in reading_order(shuffled, turned)]
    assert first == second


@settings(deadline=None)
@given(QUADS)
def test_every_line_is_read_once(quads):
    assert sorted(reading_order(quads)) == list(range(len(quads)))
