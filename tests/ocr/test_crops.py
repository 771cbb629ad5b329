import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.crops import crop_line, plane_if_grey
from gateway.ocr.geometry import turn_quad, whole_quad


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(0).integers(0, 256, (120, 200, 3), np.uint8)


def box(left, top, right, bottom):
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def test_whole_pixels_at_the_line_height_are_cut_unchanged(noise):
    assert (crop_line(noise, box(10, 20, 60, 68), line_height=48) == noise[20:68, 10:60]).all()


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_turned_quad_gives_the_very_pixels_turned_clockwise(noise, degrees):
    square = crop_line(noise, box(10, 20, 58, 68), line_height=48)
    turned = crop_line(noise, turn_quad(box(10, 20, 58, 68), degrees), line_height=48)
    assert (turned == np.rot90(square, -degrees // 90)).all()


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_turned_quad_sees_the_whole_length_of_a_tall_line(noise, degrees):
    tall = box(10, 10, 30, 110)
    assert crop_line(noise, turn_quad(tall, degrees), line_height=48).shape[1] == {0: 10, 1: 240}[degrees // 90 % 2]


@pytest.mark.parametrize("degrees", [-60, -20, 15, 45, 80])
def test_a_tilted_line_is_read_upright(degrees):
    upright = np.full((400, 400, 3), 255, np.uint8)
    cv2.putText(upright, "tilt", (120, 215), cv2.FONT_HERSHEY_SIMPLEX, 1.8, (0, 0, 0), 4)
    turn = cv2.getRotationMatrix2D((200, 200), -degrees, 1.0)
    tilted = cv2.warpAffine(upright, turn, (400, 400), flags=cv2.INTER_CUBIC, borderValue=(255, 255, 255))
    quad = cv2.transform(box(110, 160, 260, 232)[None] - 0.5, turn)[0].astype(np.float32) + np.float32(0.5)
    expected = crop_line(upright, box(110, 160, 260, 232), line_height=48)
    assert np.abs(crop_line(tilted, quad, line_height=48).astype(int) - expected).mean() < 3


def test_outside_the_image_the_border_goes_on(noise):
    crop = crop_line(noise, box(-20, -10, 30, 38), line_height=48)
    assert (crop[10:, 20:] == noise[:38, :30]).all()
    assert (crop[10:, :20] == noise[:38, :1]).all()
    assert (crop[:10, 20:] == noise[:1, :30]).all()


@pytest.mark.parametrize("line_height", [32, 48])
@pytest.mark.parametrize(
    ("width", "height", "aspect"), [(100, 20, 5), (150, 75, 2), (10, 100, 0.1), (33.4, 16.7, 2), (200, 2, 100)]
)
def test_a_crop_keeps_the_aspect_of_its_quad(noise, line_height, width, height, aspect):
    crop = crop_line(noise, box(0, 0, width, height), line_height=line_height)
    assert crop.shape == (line_height, round(aspect * line_height), 3)


def test_a_sliver_is_still_one_pixel_wide(noise):
    assert crop_line(noise, box(50, 0, 50.5, 120), line_height=48).shape == (48, 1, 3)


def test_a_quad_of_no_size_is_one_column(noise):
    assert crop_line(noise, box(50, 50, 50, 50), line_height=48).shape == (48, 1, 3)


def test_an_absurdly_wide_quad_is_bounded():
    thread = np.zeros((1, 12_000, 3), np.uint8)
    assert crop_line(thread, whole_quad(1, 12_000), line_height=48).shape == (48, 24_000, 3)


def test_a_huge_letter_is_shrunk_by_area_first():
    image = np.zeros((2000, 3000, 3), np.uint8)
    image[500:1500, 1000:2000] = 255
    crop = crop_line(image, box(500, 0, 2500, 2000), line_height=48)
    assert crop.shape == (48, 48, 3)
    assert (crop[13:35, 13:35] == 255).all()
    assert (crop[:11] == 0).all()
    assert (crop[:, 37:] == 0).all()


def test_a_huge_quad_may_lie_outside_the_image(noise):
    crop = crop_line(noise, box(300, 300, 900, 700), line_height=48)
    assert (crop == noise[-1, -1]).all()


@given(
    corners=st.lists(st.tuples(st.floats(-300, 400, width=32), st.floats(-300, 400, width=32)), min_size=4, max_size=4)
)
def test_any_four_points_give_a_line(corners):
    crop = crop_line(np.full((120, 200, 3), 200, np.uint8), np.array(corners, np.float32), line_height=48)
    assert crop.shape[0] == 48
    assert crop.shape[1] >= 1


@pytest.mark.parametrize("quad", [box(10, 20, 60, 68), box(-5, 1.3, 180.2, 22.8), box(0, 0, 200, 400)])
def test_a_page_without_colours_gives_the_same_crops_from_one_plane(noise, quad):
    grey = cv2.cvtColor(noise[..., 0], cv2.COLOR_GRAY2BGR)
    plane = plane_if_grey(grey)
    assert plane.ndim == 2
    assert (crop_line(plane, quad, line_height=48) == crop_line(grey, quad, line_height=48)).all()


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_one_pixel_of_colour_anywhere_keeps_the_page_in_colour(channel):
    page = np.full((200, 100, 3), 255, np.uint8)
    page[199, 99, channel] = 254
    assert plane_if_grey(page) is page
