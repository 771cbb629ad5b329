import numpy as np
import onnx
import pytest
from made_models import NORMALIZATION, made_detection, made_recognition

from triton_models.catalog import MODEL_SETS, Normalization
from triton_models.errors import VerificationError
from triton_models.graph import edit_detection, edit_recognition
from triton_models.signature import open_session
from triton_models.verify import (
    check_alternatives,
    check_classes,
    check_map,
    check_probabilities,
    make_noise,
    render_line,
    render_page,
    verify_detection,
    verify_recognition,
)
from triton_models.wheels import read_model

OTHER = Normalization(mean=(0.0, 0.0, 0.0), scale=(1 / 60, 1 / 60, 1 / 60))


def open_model(model: onnx.ModelProto):
    return open_session(model.SerializeToString())


def test_faithful_edits_pass():
    verify_detection(
        open_model(made_detection()), open_model(edit_detection(made_detection(), NORMALIZATION)), NORMALIZATION
    )
    verify_recognition(
        open_model(made_recognition()), open_model(edit_recognition(made_recognition(), NORMALIZATION)), NORMALIZATION
    )


def test_faithful_alternatives_pass():
    original, edited = made_recognition(), edit_recognition(made_recognition(), NORMALIZATION, 3)

    verify_recognition(open_model(original), open_model(edited), NORMALIZATION, 3)


@pytest.mark.parametrize(
    ("classes", "probabilities", "message"),
    [
        ([2, 0], [0.5, 0.3], "alternative_class_index differs by 0.1"),
        ([2, 1], [0.5, 0.2], "alternative_probability differs by 0.1"),
        ([2, 1, 0], [0.5, 0.3, 0.2], r"alternative_probability has shape \(1, 1, 3\), expected \(1, 1, 2\)"),
    ],
    ids=["another class", "another probability", "too many"],
)
def test_alternatives_other_than_the_best_fail(classes, probabilities, message):
    with pytest.raises(VerificationError, match=message):
        check_alternatives(
            np.float32([[[0.2, 0.3, 0.5]]]), 2, np.array([[classes]], np.int32), np.float32([[probabilities]])
        )


def test_a_detector_with_another_normalization_fails():
    edited = open_model(edit_detection(made_detection(), OTHER))

    with pytest.raises(VerificationError, match=r"probability_map of text differs by up to \d+ on \d+\.\d+%"):
        verify_detection(open_model(made_detection()), edited, NORMALIZATION)


def test_a_recogniser_with_another_normalization_fails():
    edited = open_model(edit_recognition(made_recognition(), OTHER))

    with pytest.raises(VerificationError, match=r"class_index differs in \d+ of 240 steps"):
        verify_recognition(open_model(made_recognition()), edited, NORMALIZATION)


def map_of(probabilities: np.ndarray) -> np.ndarray:
    return np.rint(255 * probabilities).astype(np.uint8)


PROBABILITIES = np.linspace(0, 1, 40_000, dtype=np.float32).reshape(1, 200, 200)


def test_a_rounded_map_passes():
    check_map(PROBABILITIES, map_of(PROBABILITIES), sample="ramp")


def test_a_map_may_be_off_by_one_on_very_few_pixels():
    actual = map_of(PROBABILITIES)
    actual[0, 0, :4] += 1

    check_map(PROBABILITIES, actual, sample="ramp")


@pytest.mark.parametrize(
    ("pixels", "by"),
    [(5, 1), (1, 2)],
    ids=["too many pixels", "too far"],
)
def test_a_map_that_is_further_off_fails(pixels: int, by: int):
    actual = map_of(PROBABILITIES)
    actual[0, 0, :pixels] += by

    with pytest.raises(VerificationError, match=f"of ramp differs by up to {by}"):
        check_map(PROBABILITIES, actual, sample="ramp")


def test_a_map_that_is_cut_instead_of_rounded_fails():
    with pytest.raises(VerificationError, match="differs by up to 1 on 49"):
        check_map(PROBABILITIES, (255 * PROBABILITIES).astype(np.uint8), sample="ramp")


def test_a_map_that_binarizes_otherwise_fails():
    probabilities = np.zeros((1, 200, 200), np.float32)
    probabilities[0, 0, 0] = 76.6 / 255
    actual = map_of(probabilities)
    actual[0, 0, 0] = 76

    with pytest.raises(VerificationError, match="binarizes otherwise on 1 pixels"):
        check_map(probabilities, actual, sample="dot")


def test_at_the_threshold_itself_either_side_passes():
    probabilities = np.zeros((1, 200, 200), np.float32)
    probabilities[0, 0, 0] = 0.3
    for value in (76, 77):
        actual = map_of(probabilities)
        actual[0, 0, 0] = value
        check_map(probabilities, actual, sample="dot")


def test_one_other_class_fails():
    with pytest.raises(VerificationError, match="class_index differs in 1 of 3 steps"):
        check_classes(np.array([[1, 2, 3]]), np.array([[1, 2, 4]], np.int32))


@pytest.mark.parametrize("actual", [0.50002, np.nan], ids=["too far", "not a number"])
def test_a_probability_that_differs_fails(actual: float):
    with pytest.raises(VerificationError, match=r"probability differs by .*, allowed is 1e-05"):
        check_probabilities("probability", np.float32([[0.5]]), np.float32([[actual]]))


def test_a_probability_within_the_tolerance_passes():
    check_probabilities("probability", np.float32([[0.5]]), np.float32([[0.500005]]))


def test_another_shape_fails():
    with pytest.raises(VerificationError, match=r"class_index has shape \(1, 4\), expected \(1, 3\)"):
        check_classes(np.zeros((1, 3), np.int64), np.zeros((1, 4), np.int32))


def test_samples_are_the_same_at_every_call():
    assert np.array_equal(make_noise(48, 64), make_noise(48, 64))
    assert np.array_equal(render_line("text", 160), render_line("text", 160))


def test_rendered_samples_have_ink_on_paper_in_three_different_channels():
    page = render_page(192, 320)

    assert page.shape == (192, 320, 3)
    assert page[0, 0].tolist() == [240, 248, 232]
    assert page.reshape(-1, 3).min(axis=0).tolist() == [32, 16, 48]


@pytest.mark.e2e
@pytest.mark.parametrize("model_set", MODEL_SETS.values(), ids=MODEL_SETS)
def test_published_models_answer_the_same_after_the_edits(model_set, published_wheel):
    path = published_wheel(model_set)
    for model, edit, verify in [
        (model_set.detection, edit_detection, verify_detection),
        (model_set.recognition, edit_recognition, verify_recognition),
    ]:
        published = read_model(path, model)
        edited = edit(onnx.load_model_from_string(published), model.normalization)

        verify(open_session(published), open_model(edited), model.normalization)
