import numpy as np
import onnx
import pytest
from made_models import CLASSES, NORMALIZATION, made_detection, made_recognition
from onnx import helper

from triton_models.errors import GraphError
from triton_models.graph import class_count, edit_detection, edit_recognition
from triton_models.signature import Tensor, open_session, read_signature

OPERATOR_SETS = [11, 12, 13, 17, 21]


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def normalized(pixels: np.ndarray) -> np.ndarray:
    planes = pixels.astype(np.float32).transpose(0, 3, 1, 2)
    mean, scale = (np.float32(values).reshape(1, 3, 1, 1) for values in (NORMALIZATION.mean, NORMALIZATION.scale))
    return (planes - mean) * scale


def run(model: onnx.ModelProto, name: str, value: np.ndarray) -> dict[str, np.ndarray]:
    session = open_session(model.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {name: value}), strict=True))


@pytest.mark.parametrize("opset", OPERATOR_SETS)
def test_the_edited_detector_gives_the_rounded_probabilities_of_the_original(opset: int):
    original = made_detection(opset=opset)
    image = noise(1, 64, 96, 3)

    answer = run(edit_detection(original, NORMALIZATION), "image", image)

    probabilities = run(original, "x", normalized(image))["map_0"][:, 0]
    assert list(answer) == ["probability_map"]
    assert answer["probability_map"].dtype == np.uint8
    assert np.array_equal(answer["probability_map"], np.rint(255 * probabilities))


@pytest.mark.parametrize("opset", OPERATOR_SETS)
def test_the_edited_recogniser_gives_the_top_class_and_the_space_of_the_original(opset: int):
    original = made_recognition(opset=opset)
    lines = noise(3, 48, 64, 3)

    answer = run(edit_recognition(original, NORMALIZATION), "crops", lines)

    probabilities = run(original, "x", normalized(lines))["probabilities"]
    assert probabilities.shape == (3, 8, CLASSES)
    assert answer["class_index"].dtype == np.int32
    assert np.array_equal(answer["class_index"], probabilities.argmax(axis=2))
    assert np.allclose(answer["probability"], probabilities.max(axis=2), atol=1e-6)
    assert np.allclose(answer["space_probability"], probabilities[:, :, -1], atol=1e-6)


@pytest.mark.parametrize("opset", OPERATOR_SETS)
def test_a_recogniser_may_give_its_best_classes_and_leaves_the_other_outputs_as_they_are(opset: int):
    original = made_recognition(opset=opset)
    lines = noise(3, 48, 64, 3)

    plain = run(edit_recognition(original, NORMALIZATION), "crops", lines)
    answer = run(edit_recognition(original, NORMALIZATION, 3), "crops", lines)

    probabilities = run(original, "x", normalized(lines))["probabilities"]
    best = np.argsort(-probabilities, axis=2, kind="stable")[..., :3]
    assert list(plain) == ["class_index", "probability", "space_probability"]
    assert list(answer) == [*plain, "alternative_class_index", "alternative_probability"]
    assert all(np.array_equal(answer[name], plain[name]) for name in plain)
    assert answer["alternative_class_index"].dtype == np.int32
    assert np.array_equal(answer["alternative_class_index"], best)
    assert np.allclose(answer["alternative_probability"], np.take_along_axis(probabilities, best, axis=2), atol=1e-6)


@pytest.mark.parametrize("alternatives", [0, CLASSES + 1])
def test_alternatives_that_a_recogniser_can_not_give_are_refused(alternatives: int):
    with pytest.raises(
        GraphError, match=f"of {CLASSES} classes can give 1 to {CLASSES} alternatives, not {alternatives}"
    ):
        edit_recognition(made_recognition(), NORMALIZATION, alternatives)


def test_a_map_can_be_asked_for_any_size():
    edited = edit_detection(made_detection(), NORMALIZATION)

    for height, width in [(32, 32), (64, 128)]:
        assert run(edited, "image", noise(1, height, width, 3))["probability_map"].shape == (1, height, width)


def test_of_equal_classes_the_first_is_the_top_one():
    original = made_recognition()
    kernel = next(weight for weight in original.graph.initializer if weight.name == "kernel")
    kernel.raw_data = bytes(len(kernel.raw_data))  # all classes equal

    answer = run(edit_recognition(original, NORMALIZATION), "crops", noise(1, 48, 32, 3))

    assert answer["class_index"].tolist() == [[0, 0, 0, 0]]
    assert np.allclose(answer["probability"], 1 / CLASSES)


def test_signatures_are_what_the_configurations_promise():
    detection = read_signature(open_session(edit_detection(made_detection(), NORMALIZATION).SerializeToString()))
    recognition = read_signature(open_session(edit_recognition(made_recognition(), NORMALIZATION).SerializeToString()))

    assert detection.inputs == (Tensor("image", "TYPE_UINT8", (-1, -1, 3)),)
    assert detection.outputs == (Tensor("probability_map", "TYPE_UINT8", (-1, -1)),)
    assert recognition.inputs == (Tensor("crops", "TYPE_UINT8", (48, -1, 3)),)
    assert recognition.outputs == (
        Tensor("class_index", "TYPE_INT32", (-1,)),
        Tensor("probability", "TYPE_FP32", (-1,)),
        Tensor("space_probability", "TYPE_FP32", (-1,)),
    )


def test_the_number_of_alternatives_is_in_the_signature():
    edited = edit_recognition(made_recognition(), NORMALIZATION, 3)

    assert read_signature(open_session(edited.SerializeToString())).outputs[3:] == (
        Tensor("alternative_class_index", "TYPE_INT32", (-1, 3)),
        Tensor("alternative_probability", "TYPE_FP32", (-1, 3)),
    )


@pytest.mark.parametrize("edit", [edit_detection, edit_recognition])
def test_the_model_that_is_given_stays_as_it_is(edit):
    model = made_detection() if edit is edit_detection else made_recognition()
    before = model.SerializeToString()

    edit(model, NORMALIZATION)

    assert model.SerializeToString() == before


def test_a_changed_file_says_that_it_was_changed_and_keeps_its_metadata():
    edited = edit_recognition(made_recognition(character="a\nb\nc"), NORMALIZATION)

    metadata = {entry.key: entry.value for entry in edited.metadata_props}
    assert metadata["character"] == "a\nb\nc"
    assert "replaced" in metadata["changes"]


def test_weights_listed_as_inputs_are_no_inputs():
    """Files older than IR version 4 list their weights so."""
    original = made_detection()
    weight = original.graph.initializer[0]
    original.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))

    edited = edit_detection(original, NORMALIZATION)

    assert [value.name for value in edited.graph.input] == ["image", "kernel"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (made_detection(outputs=2), "expected one output, got 2: map_0, map_1"),
        (made_detection(opset=10), "operator set 10, the edits need 11 or newer"),
    ],
    ids=["two outputs", "old operator set"],
)
def test_a_detector_of_another_kind_is_refused(model: onnx.ModelProto, message: str):
    with pytest.raises(GraphError, match=message):
        edit_detection(model, NORMALIZATION)


def test_a_model_that_was_edited_before_is_refused():
    edited = edit_detection(made_detection(), NORMALIZATION)

    with pytest.raises(GraphError, match=r"expected a float32 input of \(rows, 3, height, width\), got image: .*UINT8"):
        edit_detection(edited, NORMALIZATION)


def test_a_recogniser_that_hides_its_classes_is_refused():
    model = made_recognition()
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "classes"

    with pytest.raises(GraphError, match=r"expected an output of \(rows, steps, classes\), got probabilities"):
        edit_recognition(model, NORMALIZATION)


def test_a_model_that_uses_the_names_of_the_edits_is_refused():
    model = made_detection()
    model.graph.initializer[0].name = "edit.mean"
    model.graph.node[0].input[1] = "edit.mean"

    with pytest.raises(GraphError, match=r"no valid ONNX: .*edit\.mean"):
        edit_detection(model, NORMALIZATION)


def test_the_class_count_is_read_from_the_output():
    assert class_count(made_recognition()) == CLASSES
