import json

import pytest
from made_configs import (
    CHARSET,
    config,
    detection_config,
    original_detection_config,
    original_recognition_config,
    recognition_config,
    row_config,
    served,
)

from gateway.errors import ContractError
from gateway.inference.configs import names_per_shape, read_contract
from gateway.inference.contract import EditedGraph, OriginalGraph, RecognitionModel

DETECTION = served(detection_config())
RECOGNITION = served(recognition_config())


def test_one_model_for_any_shape_names_its_buckets():
    contract = read_contract(detection=DETECTION, recognition=RECOGNITION)
    assert contract.model_set == "tiny"
    assert contract.detection.shapes is None
    assert contract.recognition.models == (RecognitionModel("text_recognition", "1", None, None, 16),)
    assert contract.recognition.buckets == (32, 64)
    assert contract.recognition.line_height == 48
    assert contract.recognition.charset == CHARSET


def test_models_of_one_shape_each_make_the_closed_set_of_shapes():
    contract = read_contract(
        detection=served(
            detection_config(name="text_detection_h64_w96", height=64, width=96),
            detection_config(name="text_detection_h64_w64", height=64, width=64),
        ),
        recognition=served(row_config(64, 1), row_config(32, 8), row_config(32, 1)),
    )
    assert contract.detection.shapes == ((64, 64), (64, 96))
    assert contract.recognition.buckets == (32, 64)
    assert contract.recognition.place(32, 3).rows == 8


def test_a_model_knows_the_version_that_answers():
    contract = read_contract(detection=served(detection_config(), version="7"), recognition=RECOGNITION)
    assert contract.detection.models[0].version == "7"


def test_another_version_of_the_same_models_is_the_same_contract():
    newer = served(recognition_config(), version="2")
    assert read_contract(detection=DETECTION, recognition=newer) == read_contract(
        detection=DETECTION, recognition=RECOGNITION
    )


def test_an_edited_graph_needs_no_normalization():
    contract = read_contract(detection=DETECTION, recognition=RECOGNITION)
    assert contract.detection.graph == contract.recognition.graph == EditedGraph()


def test_an_original_graph_brings_its_tensor_names_and_its_normalization():
    contract = read_contract(
        detection=served(original_detection_config()), recognition=served(original_recognition_config())
    )
    assert contract.recognition.graph == OriginalGraph(
        "x", "softmax_2.tmp_0", (100.0, 110.0, 120.0), (0.01, 0.02, 0.03)
    )
    assert contract.detection.graph == OriginalGraph("x", "sigmoid_0.tmp_0", (100.0, 110.0, 120.0), (0.01, 0.02, 0.03))


def test_the_two_halves_may_be_of_different_graphs():
    contract = read_contract(detection=DETECTION, recognition=served(original_recognition_config(classes=-1)))
    assert isinstance(contract.detection.graph, EditedGraph)
    assert isinstance(contract.recognition.graph, OriginalGraph)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([], []),
        (["text_h64_w64", "text_h32_w64", "text_h32_w64"], ["text_h32_w64", "text_h64_w64"]),
        (["text_w320_r8"], ["text_w320_r8"]),
        (["text", "text_old", "text_h32", "text_w320_r8_old", "other_text_w320_r8", "texts_w320_r8"], []),
    ],
)
def test_models_per_shape_are_known_by_name_and_shape(candidates, expected):
    assert names_per_shape("text", candidates) == expected


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (detection_config(graph=None), "no parameter 'graph'"),
        (detection_config(model_set=None), "no parameter 'model_set'"),
        (detection_config(model_set="other"), "model_set of text_detection is 'other', but of text_recognition 'tiny'"),
        (detection_config(graph="top2"), "graph 'top2'; known graphs: top1, original"),
        (detection_config(height=64), "64x-1 pixels"),
        (detection_config(max_batch_size=0), "max_batch_size 0, expected 1"),
        (original_detection_config(normalization=None), "no parameter 'normalization'"),
        (original_detection_config(normalization="grey"), "normalization is 'grey'"),
        (
            original_detection_config(normalization=json.dumps({"mean": [1, 2], "scale": [1, 2, 3]})),
            "three numbers each",
        ),
        (
            config("text_detection", {}, {}, {"model_set": "tiny", "graph": "original"}, 1),
            "0 inputs and 0 outputs",
        ),
        (
            config("text_detection", {}, {}, {"model_set": "tiny", "graph": "top1"}, 1),
            "no input 'image'; it has none",
        ),
        (
            config("text_detection", {"image": ("FP32", [-1, -1, 3])}, {}, {"model_set": "tiny", "graph": "top1"}, 1),
            r"'image' of text_detection is TYPE_FP32 \[-1, -1, 3\], expected TYPE_UINT8 \[-1, -1, 3\]",
        ),
        (
            config("text_detection", {"image": ("UINT8", [3, -1, -1])}, {}, {"model_set": "tiny", "graph": "top1"}, 1),
            r"TYPE_UINT8 \[3, -1, -1\], expected",
        ),
    ],
)
def test_a_broken_detection_model_is_refused(broken, message):
    with pytest.raises(ContractError, match=message):
        read_contract(detection=served(broken), recognition=RECOGNITION)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ([recognition_config(charset=None)], "no parameter 'charset'"),
        ([recognition_config(charset="")], "class 1 of 2 in its charset has no text"),
        ([recognition_config(charset="a\n\n ")], "class 2 of 4 in its charset has no text"),
        ([recognition_config(charset="a\nb")], "the last of 3 classes is 'b', not the space"),
        ([recognition_config(buckets=None)], "no parameter 'buckets'"),
        ([recognition_config(buckets="")], "'buckets' has '', expected a whole number"),
        ([recognition_config(buckets="32,wide")], "'buckets' has 'wide', expected a whole number"),
        ([recognition_config(rows="0")], "'rows' has '0', expected a whole number"),
        ([recognition_config(rows="17")], "takes 17 rows, but its max_batch_size is 16"),
        ([row_config(32, 1), recognition_config()], r"text_recognition takes any width, but others fix theirs: \[32\]"),
        (
            [row_config(32, 1), recognition_config(name="text_recognition_w64_r1", width=64, charset="a\n ")],
            "charset of text_recognition_w32_r1 is 4 classes, but of text_recognition_w64_r1 3 classes",
        ),
        (
            [row_config(32, 1), recognition_config(name="text_recognition_w64_r1", width=64, alternatives=3)],
            "alternatives of text_recognition_w32_r1 is 0, but of text_recognition_w64_r1 3",
        ),
        ([recognition_config(alternatives=-1)], "gives -1 alternative classes, but -1 probabilities"),
        ([original_recognition_config(classes=6625)], "knows 6625 classes, but its charset has 4"),
        (
            [
                config(
                    "text_recognition",
                    {"x": ("FP32", [3, -1, -1])},
                    {"y": ("FP32", [-1, 4])},
                    {
                        "model_set": "tiny",
                        "graph": "original",
                        "charset": "a\nb\n ",
                        "normalization": json.dumps({"mean": [1, 2, 3], "scale": [1, 2, 3]}),
                    },
                    16,
                )
            ],
            "does not fix the height",
        ),
    ],
)
def test_broken_recognition_models_are_refused(broken, message):
    with pytest.raises(ContractError, match=message):
        read_contract(detection=DETECTION, recognition=served(*broken))


@pytest.mark.parametrize(
    ("model", "given"),
    [(recognition_config(), 0), (recognition_config(alternatives=3), 3), (original_recognition_config(), 0)],
    ids=["top class", "three", "published"],
)
def test_a_model_says_by_its_outputs_how_many_alternatives_it_gives(model, given):
    contract = read_contract(detection=DETECTION, recognition=served(model))
    assert contract.recognition.alternatives == given
