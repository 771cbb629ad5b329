import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_configs import (
    CHARSET,
    detection_config,
    original_detection_config,
    original_recognition_config,
    recognition_config,
    served,
)

from gateway.errors import UnexpectedOutput
from gateway.inference.codecs import detection_codec, recognition_codec
from gateway.inference.configs import read_contract

EDITED = read_contract(detection=served(detection_config()), recognition=served(recognition_config()))
ORIGINAL = read_contract(
    detection=served(original_detection_config()), recognition=served(original_recognition_config())
)
EDITED_DETECTION, ORIGINAL_DETECTION = (detection_codec(one.detection) for one in (EDITED, ORIGINAL))
EDITED_RECOGNITION, ORIGINAL_RECOGNITION = (recognition_codec(one.recognition) for one in (EDITED, ORIGINAL))

WITH_ALTERNATIVES = read_contract(
    detection=served(detection_config()), recognition=served(recognition_config(alternatives=2))
).recognition

IMAGE_SHAPE = (2, 3, 3)
ROWS_SHAPE = (2, 48, 32, 3)


def softmax(values):
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


def edited_answer(**changes):
    return {
        "class_index": np.array([[0, 1, 1], [2, 0, 3]], np.int32),
        "probability": np.full((2, 3), 0.5, np.float32),
        "space_probability": np.full((2, 3), 0.25, np.float32),
        **changes,
    }


def test_an_edited_graph_takes_the_pixels_as_they_are():
    image = np.arange(18, dtype=np.uint8).reshape(IMAGE_SHAPE)
    rows = np.zeros(ROWS_SHAPE, np.uint8)
    np.testing.assert_array_equal(EDITED_DETECTION.encode(image)["image"], image[np.newaxis])
    assert EDITED_RECOGNITION.encode(rows)["crops"] is rows


def test_an_original_graph_takes_normalized_planes_in_the_order_of_the_pixels():
    blue, green, red = 200, 110, 20
    tensor = ORIGINAL_DETECTION.encode(np.full(IMAGE_SHAPE, (blue, green, red), np.uint8))["x"]
    assert tensor.shape == (1, 3, 2, 3)
    assert tensor.dtype == np.float32
    np.testing.assert_allclose(tensor[0, :, 1, 2], [1.0, 0.0, -3.0], rtol=1e-6)


def test_rows_of_an_original_graph_keep_their_order_and_their_pixels():
    rows = np.random.default_rng(1).integers(0, 256, ROWS_SHAPE, np.uint8)
    tensor = ORIGINAL_RECOGNITION.encode(rows)["x"]
    assert tensor.flags.c_contiguous
    np.testing.assert_allclose(tensor[1, 2, 40, 7], (rows[1, 40, 7, 2] - 120.0) * 0.03, rtol=1e-5)


def test_an_edited_graphs_steps_are_taken_as_they_come():
    answer = edited_answer()
    steps = EDITED_RECOGNITION.decode(answer, ROWS_SHAPE)
    assert steps.class_index is answer["class_index"]
    assert steps.probability is answer["probability"]
    assert steps.space_probability is answer["space_probability"]


@given(
    rows=st.integers(1, 4),
    steps=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
)
def test_both_graphs_say_the_same_of_the_same_probabilities(rows, steps, seed):
    probabilities = softmax(np.random.default_rng(seed).normal(0, 3, (rows, steps, len(CHARSET))))
    shape = (rows, 48, 32, 3)
    original = ORIGINAL_RECOGNITION.decode({"softmax_2.tmp_0": probabilities}, shape)
    edited = EDITED_RECOGNITION.decode(
        {
            "class_index": probabilities.argmax(2).astype(np.int32),
            "probability": probabilities.max(2),
            "space_probability": probabilities[:, :, 3],
        },
        shape,
    )
    np.testing.assert_array_equal(original.class_index, edited.class_index)
    np.testing.assert_array_equal(original.probability, edited.probability)
    np.testing.assert_array_equal(original.space_probability, edited.space_probability)
    assert original.class_index.dtype == edited.class_index.dtype == np.int32


def test_an_original_graphs_steps_do_not_hold_on_to_all_classes():
    probabilities = softmax(np.zeros((2, 3, 4)))
    steps = ORIGINAL_RECOGNITION.decode({"softmax_2.tmp_0": probabilities}, ROWS_SHAPE)
    for array in (steps.class_index, steps.probability, steps.space_probability):
        assert not np.shares_memory(array, probabilities)


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(0.0, 0), (0.29999, 76), (0.30001, 77), (0.5, 128), (0.999, 255), (1.0, 255), (1.0005, 255)],
)
def test_an_original_map_is_rounded_so_that_the_usual_threshold_falls_between_two_values(probability, expected):
    probabilities = np.full((1, 1, 2, 3), probability, np.float32)
    assert ORIGINAL_DETECTION.decode({"sigmoid_0.tmp_0": probabilities}, IMAGE_SHAPE)[1, 2] == expected


def test_an_edited_map_loses_only_its_batch():
    answer = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    np.testing.assert_array_equal(EDITED_DETECTION.decode({"probability_map": answer}, IMAGE_SHAPE), answer[0])


def test_only_the_original_graphs_belong_on_a_thread():
    assert ORIGINAL_DETECTION.heavy
    assert ORIGINAL_RECOGNITION.heavy
    assert not EDITED_DETECTION.heavy
    assert not EDITED_RECOGNITION.heavy


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, r"answered \[\], without 'class_index'"),
        (edited_answer(class_index=np.zeros((2, 3), np.int64)), r"is int64 \[2, 3\], expected int32 \[2, -1\]"),
        (edited_answer(class_index=np.zeros((1, 3), np.int32)), r"is int32 \[1, 3\], expected int32 \[2, -1\]"),
        (edited_answer(class_index=np.zeros((2, 0), np.int32)), r"is int32 \[2, 0\], expected"),
        (edited_answer(class_index=np.zeros(2, np.int32)), r"is int32 \[2\], expected"),
        (edited_answer(class_index=np.full((2, 3), 4, np.int32)), "classes 4 to 4, but its charset has 4 classes"),
        (edited_answer(class_index=np.full((2, 3), -1, np.int32)), "classes -1 to -1"),
        (edited_answer(probability=np.zeros((2, 4), np.float32)), r"'probability' is float32 \[2, 4\], expected"),
        (edited_answer(probability=np.full((2, 3), np.nan, np.float32)), "'probability' has values from nan"),
        (edited_answer(space_probability=np.full((2, 3), 17, np.float32)), "from 17.0 to 17.0, expected probab"),
        (edited_answer(space_probability=np.full((2, 3), -np.inf, np.float32)), "from -inf to -inf"),
    ],
)
def test_steps_that_an_edited_graph_can_not_answer_are_refused(answer, message):
    with pytest.raises(UnexpectedOutput, match=message):
        EDITED_RECOGNITION.decode(answer, ROWS_SHAPE)


@pytest.mark.parametrize(
    ("codec", "shape", "answer", "message"),
    [
        (EDITED_DETECTION, IMAGE_SHAPE, {}, "without 'probability_map'"),
        (
            EDITED_DETECTION,
            IMAGE_SHAPE,
            {"probability_map": np.zeros((1, 3, 2), np.uint8)},
            r"is uint8 \[1, 3, 2\], expected uint8 \[1, 2, 3\]",
        ),
        (
            ORIGINAL_DETECTION,
            IMAGE_SHAPE,
            {"sigmoid_0.tmp_0": np.zeros((1, 2, 3), np.float32)},
            r"is float32 \[1, 2, 3\], expected float32 \[1, 1, 2, 3\]",
        ),
        (
            ORIGINAL_DETECTION,
            IMAGE_SHAPE,
            {"sigmoid_0.tmp_0": np.full((1, 1, 2, 3), np.nan, np.float32)},
            "from nan to nan",
        ),
        (
            ORIGINAL_RECOGNITION,
            ROWS_SHAPE,
            {"softmax_2.tmp_0": np.zeros((2, 3, 6625), np.float32)},
            r"is float32 \[2, 3, 6625\], expected float32 \[2, -1, 4\]",
        ),
        (
            ORIGINAL_RECOGNITION,
            ROWS_SHAPE,
            {"softmax_2.tmp_0": np.full((2, 3, 4), np.nan, np.float32)},
            "from nan to nan",
        ),
    ],
)
def test_answers_that_do_not_fit_the_pixels_are_refused(codec, shape, answer, message):
    with pytest.raises(UnexpectedOutput, match=message):
        codec.decode(answer, shape)


def alternatives_answer(**changes):
    return edited_answer(
        alternative_class_index=np.array([[[0, 1], [1, 0], [1, 2]], [[2, 1], [0, 3], [3, 0]]], np.int32),
        alternative_probability=np.full((2, 3, 2), 0.25, np.float32),
        **changes,
    )


@pytest.mark.parametrize(
    ("contract", "wanted", "more"),
    [
        (WITH_ALTERNATIVES, True, ("alternative_class_index", "alternative_probability")),
        (WITH_ALTERNATIVES, False, ()),
        (EDITED.recognition, True, ()),
    ],
    ids=["wanted", "not wanted", "not there"],
)
def test_alternatives_are_asked_for_where_they_are_wanted_and_there(contract, wanted, more):
    codec = recognition_codec(contract, alternatives=wanted)
    assert codec.outputs == ("class_index", "probability", "space_probability", *more)
    assert (codec.decode(alternatives_answer(), ROWS_SHAPE).alternatives is not None) == bool(more)


def test_alternatives_are_taken_as_they_come_and_parted_by_line():
    answer = alternatives_answer()
    steps = recognition_codec(WITH_ALTERNATIVES, alternatives=True).decode(answer, ROWS_SHAPE)
    assert steps.alternatives.class_index is answer["alternative_class_index"]
    assert steps.alternatives.probability is answer["alternative_probability"]
    assert steps.line(1).alternatives.class_index.tolist() == [[2, 1], [0, 3], [3, 0]]
    assert EDITED_RECOGNITION.decode(answer, ROWS_SHAPE).line(1).alternatives is None


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("alternative_class_index", np.zeros((2, 3), np.int32), r"is int32 \[2, 3\], expected int32 \[2, 3, 2\]"),
        ("alternative_class_index", np.full((2, 3, 2), 4, np.int32), "classes 4 to 4, but its charset has 4"),
        ("alternative_class_index", np.zeros((2, 3, 2), np.int32), "is not everywhere the top class"),
        ("alternative_probability", np.full((2, 3, 2), np.nan, np.float32), "from nan to nan"),
        ("alternative_probability", np.zeros((2, 3, 3), np.float32), r"expected float32 \[2, 3, 2\]"),
    ],
)
def test_alternatives_that_make_no_sense_are_refused(name, tensor, message):
    with pytest.raises(UnexpectedOutput, match=message):
        recognition_codec(WITH_ALTERNATIVES, alternatives=True).decode(
            {**alternatives_answer(), name: tensor}, ROWS_SHAPE
        )
