import pytest

from gateway.errors import ContractError, InvalidRequest
from gateway.inference.contract import (
    DetectionContract,
    DetectionModel,
    RecognitionContract,
    RecognitionModel,
    require_alternatives,
)

ANY_SHAPE = DetectionContract(models=(DetectionModel("text_detection", "1"),))
TWO_SHAPES = DetectionContract(
    models=(
        DetectionModel("text_detection_h960_w1280", "1", (960, 1280)),
        DetectionModel("text_detection_h736_w736", "1", (736, 736)),
    )
)


def recognition(*models: RecognitionModel) -> RecognitionContract:
    return RecognitionContract(models=models, line_height=48, buckets=(320, 640), charset=("", "a", " "))


ANY_ROWS = recognition(RecognitionModel("text_recognition", "1", max_rows=64))
PER_SHAPE = recognition(
    *(
        RecognitionModel(f"text_recognition_w{width}_r{rows}", "1", width, rows, rows)
        for width, rows in ((320, 32), (320, 1), (320, 8), (640, 1), (640, 8))
    )
)


def test_a_model_for_any_shape_leaves_the_set_of_shapes_open():
    assert ANY_SHAPE.shapes is None


def test_shapes_are_listed_smallest_area_first():
    assert TWO_SHAPES.shapes == ((736, 736), (960, 1280))


def test_an_image_is_placed_with_the_model_of_its_very_shape():
    assert TWO_SHAPES.place(960, 1280).name == "text_detection_h960_w1280"
    assert ANY_SHAPE.place(960, 32).name == "text_detection"


@pytest.mark.parametrize(
    ("contract", "height", "width"),
    [(DetectionContract(models=()), 736, 736), (TWO_SHAPES, 736, 960), (ANY_SHAPE, 736, 737)],
    ids=["no model", "a shape that is not served", "not a multiple of 32"],
)
def test_an_image_that_no_model_takes_is_refused_with_its_shape(contract, height, width):
    with pytest.raises(ContractError, match=f"{height}x{width}"):
        contract.place(height, width)


@pytest.mark.parametrize(
    ("bucket_width", "rows", "name"),
    [
        (320, 1, "text_recognition_w320_r1"),
        (320, 2, "text_recognition_w320_r8"),
        (320, 8, "text_recognition_w320_r8"),
        (320, 9, "text_recognition_w320_r32"),
        (640, 8, "text_recognition_w640_r8"),
    ],
)
def test_rows_are_placed_with_the_smallest_model_that_holds_them(bucket_width, rows, name):
    assert PER_SHAPE.place(bucket_width, rows).name == name


def test_one_model_for_any_shape_takes_every_bucket():
    assert [ANY_ROWS.place(width, 64).name for width in (320, 640)] == ["text_recognition", "text_recognition"]


@pytest.mark.parametrize(
    ("contract", "bucket_width", "expected"),
    [(ANY_ROWS, 320, 64), (PER_SHAPE, 320, 32), (PER_SHAPE, 640, 8), (PER_SHAPE, 960, 0)],
)
def test_max_rows_is_that_of_the_largest_model_of_the_bucket(contract, bucket_width, expected):
    assert contract.max_rows(bucket_width) == expected


@pytest.mark.parametrize(("bucket_width", "rows"), [(320, 0), (320, 33), (640, 9), (960, 1)])
def test_rows_that_no_model_takes_are_refused_with_their_shape(bucket_width, rows):
    with pytest.raises(ContractError, match=f"{rows} rows of {bucket_width} pixels"):
        PER_SHAPE.place(bucket_width, rows)


@pytest.mark.parametrize(
    ("asked", "given", "can"), [(1, 0, "give none"), (4, 3, "give at most 3")], ids=["none", "too few"]
)
def test_alternatives_that_the_models_lack_are_refused_with_the_command_that_builds_them(asked, given, can):
    with pytest.raises(InvalidRequest) as caught:
        require_alternatives(asked, given)
    assert caught.value.detail == (
        f"alternatives is {asked}, but the models that are served {can}; those built with "
        f"python -m triton_models build --alternatives {asked} do"
    )


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (0, 3), (2, 3), (3, 3)])
def test_as_many_alternatives_as_there_are_may_be_asked_for(asked, given):
    require_alternatives(asked, given)
