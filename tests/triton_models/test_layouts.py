import pytest

from triton_models.errors import ShapeError
from triton_models.layouts import (
    ANY_SHAPES,
    CHUNK_AREA,
    DEFAULT_SHAPES,
    PER_SHAPE_SHAPES,
    Shapes,
    chunk_rows,
    recognition_shapes,
    rows_of,
)


@pytest.mark.parametrize(
    ("width", "rows"),
    [(64, 64), (160, 64), (192, 53), (320, 32), (640, 16), (2560, 4), (10_240, 1), (20_000, 1)],
)
def test_a_chunk_holds_what_the_area_allows_and_at_least_one_row(width: int, rows: int):
    assert chunk_rows(width) == rows


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (160, (1, 8, 32)),
        (320, (1, 8, 32)),
        (480, (1, 8, 16)),
        (640, (1, 8, 16)),
        (960, (1, 8)),
        (1280, (1, 8)),
        (1600, (1, 4)),
        (2560, (1, 4)),
        (20_000, (1,)),
    ],
)
def test_row_counts_beyond_the_chunk_area_are_cut_to_a_power_of_two(width: int, expected: tuple[int, ...]):
    assert rows_of(width, (1, 8, 32)) == expected


def test_the_default_recognition_models_are_fifteen_within_the_chunk_area():
    shapes = list(recognition_shapes(PER_SHAPE_SHAPES))

    assert len(shapes) == len(set(shapes)) == 15
    assert all(48 * width * rows <= CHUNK_AREA for width, rows in shapes)


def test_the_default_detection_shapes_hold_common_pages_in_both_orientations():
    shapes = set(PER_SHAPE_SHAPES.detection)

    assert {(width, height) for height, width in shapes} == shapes
    for sides in [(2000, 1414), (2000, 1500), (1920, 1080), (2000, 700), (2000, 2000), (736, 736)]:
        assert any(height >= sides[0] and width >= sides[1] for height, width in shapes)


@pytest.mark.parametrize(
    ("page", "shape"),
    [
        ((736, 1312), (736, 1312)),  # 16:9, enlarged to the least side
        ((1024, 768), (1024, 768)),  # 4:3
        ((1754, 1240), (1760, 1280)),  # A4 at 150 dpi
        ((1650, 1275), (1760, 1280)),  # Letter at 150 dpi
    ],
)
def test_common_pages_get_a_shape_that_fits_closely(page: tuple[int, int], shape: tuple[int, int]):
    holding = [one for one in PER_SHAPE_SHAPES.detection if one[0] >= page[0] and one[1] >= page[1]]

    assert min(holding, key=lambda one: one[0] * one[1]) == shape


def test_the_first_bucket_holds_the_shortest_words_and_the_last_the_longest_lines():
    assert (ANY_SHAPES.buckets[0], ANY_SHAPES.buckets[-1]) == (48, 2560)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buckets": ()}, "bucket widths must be multiples of 8, at least one"),
        ({"buckets": (100,)}, "bucket widths must be multiples of 8"),
        ({"buckets": (0, 64)}, "bucket widths must be multiples of 8"),
        ({"buckets": (128, 64)}, "bucket widths must ascend"),
        ({"buckets": (64, 64)}, "bucket widths must ascend"),
        ({"row_counts": (8, 1)}, "row counts must ascend"),
        ({"row_counts": (0,)}, "row counts must be multiples of 1"),
        ({"detection": ((736, 700),)}, "sides for detection must be multiples of 32"),
        ({"detection": ((0, 736),)}, "sides for detection must be multiples of 32"),
    ],
)
def test_shapes_that_models_cannot_take_are_refused(changes, message: str):
    good = {"buckets": (64,), "row_counts": (1,), "detection": ((736, 736),)}

    with pytest.raises(ShapeError, match=message):
        Shapes(**{**good, **changes})


def test_every_layout_has_default_shapes():
    assert DEFAULT_SHAPES == {"any": ANY_SHAPES, "per-shape": PER_SHAPE_SHAPES}
