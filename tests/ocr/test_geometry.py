import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.geometry import (
    carry_over,
    grow_rectangle,
    order_corners,
    quad_size,
    rectangle_quads,
    slice_quad,
    turn_quad,
    whole_quad,
)

SIDES = st.floats(3, 3000, width=32)
DEGREES = st.floats(-180, 180, width=32)


def quad(*corners):
    return np.array(corners, np.float32)


def rectangle(width, height, degrees=0.0, center=(500.0, 400.0)):
    """The corners of a line of this size, turned clockwise by `degrees`, from the top-left corner of its text."""
    return rectangle_quads(*(np.array(value, np.float32) for value in (center, (width, height), degrees)))


def test_whole_quad_encloses_every_pixel():
    assert whole_quad(20, 30).tolist() == [[0, 0], [30, 0], [30, 20], [0, 20]]


def test_whole_quad_of_an_image_has_its_size():
    assert [float(side) for side in quad_size(whole_quad(20, 30))] == [30, 20]


class TestRectangleQuads:
    def test_an_upright_one_starts_at_its_top_left_corner(self):
        assert rectangle(40, 10, center=(20, 5)).tolist() == [[0, 0], [40, 0], [40, 10], [0, 10]]

    def test_degrees_turn_clockwise(self):
        assert rectangle(40, 10, 90, center=(0, 0))[0] == pytest.approx([5, -20], abs=1e-4)

    @given(width=SIDES, height=SIDES, degrees=DEGREES)
    def test_corners_are_those_of_opencv(self, width, height, degrees):
        ours = rectangle(width, height, degrees)
        theirs = cv2.boxPoints(((500.0, 400.0), (width, height), degrees))
        distances = np.linalg.norm(ours[:, None] - theirs[None], axis=-1)
        assert distances.min(axis=1).max() < 0.01

    def test_no_rectangles_give_no_quads(self):
        assert rectangle_quads(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0)).shape == (0, 4, 2)


class TestOrderCorners:
    def test_no_quads_stay_no_quads(self):
        assert order_corners(np.zeros((0, 4, 2), np.float32)).shape == (0, 4, 2)

    @pytest.mark.parametrize("first", range(4))
    @pytest.mark.parametrize("direction", [1, -1])
    @pytest.mark.parametrize(
        ("width", "height", "degrees"),
        [(300, 30, 0), (300, 30, 30), (300, 30, -30), (300, 30, 80), (300, 30, -80), (30, 300, 4), (50, 50, 40)],
    )
    def test_any_order_of_the_corners_gives_the_same_quad(self, width, height, degrees, first, direction):
        expected = rectangle(width, height, degrees)
        shuffled = np.roll(expected[::direction], first, axis=0)
        assert order_corners(shuffled) == pytest.approx(expected)

    @given(width=SIDES, height=SIDES, share=st.floats(-0.99, 0.99), first=st.integers(0, 3), reverse=st.booleans())
    def test_the_text_starts_at_the_left_edge_up_to_a_slope_of_its_aspect(self, width, height, share, first, reverse):
        line = rectangle(width, height, math.degrees(math.atan(width / height)) * share)
        shuffled = np.roll(line[::-1] if reverse else line, first, axis=0)
        assert order_corners(shuffled) == pytest.approx(line)

    @pytest.mark.parametrize("degrees", [85, 90, 95, -85])
    def test_a_steeper_line_is_taken_for_a_tall_one(self, degrees):
        width, height = quad_size(order_corners(rectangle(300, 30, degrees)))
        assert (width, height) == pytest.approx((30, 300), abs=1e-2)

    def test_the_text_of_a_square_on_its_tip_runs_down_to_the_right(self):
        tip = quad([0, 10], [10, 0], [20, 10], [10, 20])
        expected = quad([10, 0], [20, 10], [10, 20], [0, 10])
        assert all(order_corners(np.roll(tip, shift, axis=0)).tolist() == expected.tolist() for shift in range(4))

    def test_a_stack_is_ordered_quad_by_quad(self):
        stack = np.stack([rectangle(300, 30, 10)[::-1], rectangle(20, 90, -5)])
        assert order_corners(stack) == pytest.approx(np.stack([rectangle(300, 30, 10), rectangle(20, 90, -5)]))


class TestQuadSize:
    @given(width=SIDES, height=SIDES, degrees=DEGREES)
    def test_turning_does_not_change_it(self, width, height, degrees):
        assert [float(side) for side in quad_size(rectangle(width, height, degrees))] == pytest.approx(
            [width, height], rel=1e-3, abs=1e-2
        )

    def test_of_opposite_edges_the_longer_counts(self):
        width, height = quad_size(quad([0, 0], [10, 0], [20, 8], [0, 6]))
        assert (width, height) == pytest.approx((math.hypot(20, 2), math.hypot(10, 8)))


class TestGrowRectangle:
    # The second and third rows are what an offset with round joins by area * ratio / perimeter (pyclipper 1.4.0, on
    # coordinates times 1024), enclosed in the smallest rectangle, gives.
    @pytest.mark.parametrize(
        ("kernel", "ratio", "expected"),
        [
            (
                quad([30, 10], [90, 10], [90, 20], [30, 20]),
                0.0,
                quad([30, 10], [90, 10], [90, 20], [30, 20]),
            ),
            (
                quad([100, 200], [400, 200], [400, 230], [100, 230]),
                1.6,
                quad([78.18, 178.18], [421.82, 178.18], [421.82, 251.82], [78.18, 251.82]),
            ),
            (
                quad([100, 100], [340, 280], [322, 304], [82, 124]),
                1.2,
                quad([96.73, 77.09], [362.91, 276.73], [325.27, 326.91], [59.09, 127.27]),
            ),
        ],
    )
    def test_it_is_the_offset_of_db(self, kernel, ratio, expected):
        assert grow_rectangle(kernel, ratio) == pytest.approx(expected, abs=0.01)

    @given(width=SIDES, height=SIDES, degrees=DEGREES, ratio=st.floats(0, 3))
    def test_growing_a_turned_rectangle_turns_the_grown_one(self, width, height, degrees, ratio):
        twice_distance = width * height * ratio / (width + height)
        expected = rectangle(width + twice_distance, height + twice_distance, degrees)
        assert grow_rectangle(rectangle(width, height, degrees), ratio) == pytest.approx(expected, rel=1e-3, abs=0.05)

    @pytest.mark.parametrize("point", [quad(*[[3, 4]] * 4), quad([0, 0], [9, 0], [9, 0], [0, 0])])
    def test_a_rectangle_without_area_stays_as_it_is(self, point):
        assert grow_rectangle(point, 1.6).tolist() == point.tolist()

    def test_quads_stay_float32(self):
        assert grow_rectangle(rectangle(20, 10), 1.6).dtype == np.float32


class TestTurnQuad:
    def test_a_quarter_clockwise_makes_the_bottom_left_corner_the_first(self):
        assert turn_quad(whole_quad(20, 30), 90).tolist() == [[0, 20], [0, 0], [30, 0], [30, 20]]

    @pytest.mark.parametrize("degrees", [0, 360])
    def test_a_whole_turn_changes_nothing(self, degrees):
        assert turn_quad(whole_quad(20, 30), degrees).tolist() == whole_quad(20, 30).tolist()

    @given(first=st.sampled_from([0, 90, 180, 270]), second=st.sampled_from([0, 90, 180, 270]))
    def test_turns_add_up(self, first, second):
        line = rectangle(300, 30, 12)
        assert (turn_quad(turn_quad(line, first), second) == turn_quad(line, first + second)).all()


def test_parts_of_a_quad_lie_along_its_text():
    upside_down = quad((100, 40), (0, 40), (0, 0), (100, 0))
    (part,) = slice_quad(upside_down, np.array([[0.1, 0.3]]))
    assert part.tolist() == [[90, 40], [70, 40], [70, 0], [90, 0]]


def test_no_parts_of_a_quad_are_no_quads():
    assert slice_quad(rectangle(100, 20), np.zeros((0, 2))).shape == (0, 4, 2)


@given(DEGREES)
def test_fractions_carried_over_to_a_shorter_quad_mean_the_same_place_and_none_outside_it(degrees):
    outer, inner = rectangle(200, 40, degrees), rectangle(160, 20, degrees)
    carried = carry_over(np.array([[0.0, 0.1], [0.5, 1.0]]), outer, inner)
    np.testing.assert_allclose(carried, [[0, 0], [0.5, 1]], atol=1e-4)
    np.testing.assert_allclose(carry_over(np.array([[0.2]]), outer, inner), [[0.125]], atol=1e-4)
