import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.detection import prepare_detection
from gateway.ocr.options import DetectionOptions
from gateway.ocr.tiling import OVERLAP, is_blank, join, plan_tiles, spans, tile_side, whole


@given(st.integers(1, 30_000), st.integers(600, 4000))
def test_the_parts_that_count_cover_a_side_once_and_are_far_from_the_edges_of_what_is_seen(length, side):
    tiles = spans(length, side)
    assert [tile.core_start for tile in tiles] == [0, *(tile.core_end for tile in tiles[:-1])]
    assert tiles[-1].core_end == length
    for tile in tiles:
        assert 0 <= tile.start <= tile.core_start < tile.core_end <= tile.end <= length
        assert tile.end - tile.start <= side
        assert tile.start == 0 or tile.core_start - tile.start >= OVERLAP // 2 - 1
        assert tile.end == length or tile.end - tile.core_end >= OVERLAP // 2 - 1


@pytest.mark.parametrize(
    ("length", "count"), [(1, 1), (2000, 1), (2001, 2), (3744, 2), (3745, 3), (10_000, 6), (20_000, 12)]
)
def test_there_are_as_few_as_possible(length, count):
    assert len(spans(length, 2000)) == count


def test_the_side_of_a_tile_is_what_the_served_models_take():
    assert tile_side(DetectionOptions(limit_side=1500), None) == 1500
    assert tile_side(DetectionOptions(limit_side=1500), [(960, 960), (736, 1984), (1280, 1600)]) == 1280
    assert tile_side(DetectionOptions(limit_side=1000), [(960, 960), (1280, 1600)]) == 1000


@pytest.mark.parametrize("shapes", [None, [(640, 640)], [(480, 480)]])
def test_the_joined_map_is_that_of_the_image_whatever_the_tensors_are(shapes):
    image = np.zeros((1500, 2300, 3), np.uint8)
    image[::97, :, 0] = image[:, ::89, 0] = 255
    image[700:760, 100:2200, 0] = 255  # a line across all tiles
    options = DetectionOptions(min_side=0, limit_side=640)
    prepared = [
        (tile, prepare_detection(tile.cut(image), options, shapes=shapes))
        for row in plan_tiles((1500, 2300), 640)
        for tile in row
    ]
    joined = join((1500, 2300), [(tile, one, one.tensor[..., 0]) for tile, one in prepared])
    if shapes == [(480, 480)]:  # scaled: the thin lines are blurred, the thick one is there from end to end
        assert (joined[710:750, 110:2190] > 200).all()
    else:
        assert (joined == image[..., 0]).all()


def test_pixels_of_the_joined_map_are_pixels_of_the_image():
    prepared = whole(np.zeros((30, 40, 3), np.uint8))
    quads = np.array([[[1, 2], [3, 2], [3, 4], [1, 4]]], np.float32)
    assert (prepared.to_image(quads) == quads).all()
    assert prepared.scaled == 1.0


@pytest.mark.parametrize(
    ("low", "high", "blank"),
    [((200, 90, 7), (200, 90, 7), True), ((250,) * 3, (255,) * 3, True), ((255,) * 3, (255, 255, 240), False)],
)
def test_a_tile_of_one_colour_shows_nothing(low, high, blank):
    image = np.full((40, 50, 3), low, np.uint8)
    image[7, 9] = high
    assert is_blank(image) is blank
