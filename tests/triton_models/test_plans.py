import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_models import DICTIONARY, NORMALIZATION, made_wheel

from triton_models.graph import GraphKind
from triton_models.layouts import DEFAULT_SHAPES, Layout, Shapes
from triton_models.plans import Call, Names, Recipe, plan_detection, plan_recognition
from triton_models.signature import Signature, Tensor

TOP1_DETECTION = Signature(
    (Tensor("image", "TYPE_UINT8", (-1, -1, 3)),), (Tensor("probability_map", "TYPE_UINT8", (-1, -1)),)
)
TOP1_RECOGNITION = Signature(
    (Tensor("crops", "TYPE_UINT8", (48, -1, 3)),),
    (
        Tensor("class_index", "TYPE_INT32", (-1,)),
        Tensor("probability", "TYPE_FP32", (-1,)),
        Tensor("space_probability", "TYPE_FP32", (-1,)),
    ),
)
ORIGINAL_RECOGNITION = Signature(
    (Tensor("x", "TYPE_FP32", (3, -1, -1)),), (Tensor("softmax_11.tmp_0", "TYPE_FP32", (-1, 5)),)
)
CHARSET = (*DICTIONARY, " ")
SHAPES = Shapes(buckets=(320, 640), row_counts=(1, 32), detection=((736, 736), (736, 1152)))


@pytest.fixture
def model_set(tmp_path: Path):
    return made_wheel(tmp_path)


def recipe(layout: Layout = Layout.ANY, graph: GraphKind = GraphKind.TOP1, **changes) -> Recipe:
    return replace(Recipe(layout=layout, graph=graph, shapes=SHAPES), **changes)


def test_one_detector_takes_any_page_alone(model_set):
    (model,) = plan_detection(model_set, recipe(), TOP1_DETECTION)

    assert model.name == "text_detection"
    assert model.input == Tensor("image", "TYPE_UINT8", (-1, -1, 3))
    assert model.outputs == TOP1_DETECTION.outputs
    assert model.max_batch_size == 1
    assert model.warm_up == (Call(1, (736, 736, 3)), Call(1, (736, 1152, 3)))


def test_one_recogniser_takes_lines_of_any_width(model_set):
    (model,) = plan_recognition(model_set, recipe(), TOP1_RECOGNITION, CHARSET)

    assert model.name == "text_recognition"
    assert model.input == Tensor("crops", "TYPE_UINT8", (48, -1, 3))
    assert model.max_batch_size == 64
    assert "rows" not in model.parameters


def test_every_bucket_is_warmed_up_with_one_row_and_the_memory_with_a_full_chunk(model_set):
    (model,) = plan_recognition(model_set, recipe(), TOP1_RECOGNITION, CHARSET)

    assert model.warm_up == (Call(1, (48, 320, 3)), Call(1, (48, 640, 3)), Call(16, (48, 640, 3)))


def test_each_page_shape_gets_a_detector_that_takes_no_other(model_set):
    models = list(plan_detection(model_set, recipe(Layout.PER_SHAPE), TOP1_DETECTION))

    assert [model.name for model in models] == ["text_detection_h736_w736", "text_detection_h736_w1152"]
    assert [model.input.dims for model in models] == [(736, 736, 3), (736, 1152, 3)]
    assert [model.warm_up for model in models] == [(Call(1, (736, 736, 3)),), (Call(1, (736, 1152, 3)),)]


def test_each_bucket_and_row_count_gets_a_recogniser_that_takes_no_other(model_set):
    models = list(plan_recognition(model_set, recipe(Layout.PER_SHAPE), TOP1_RECOGNITION, CHARSET))

    assert [model.name for model in models] == [
        "text_recognition_w320_r1",
        "text_recognition_w320_r32",
        "text_recognition_w640_r1",
        "text_recognition_w640_r16",
    ]
    last = models[-1]
    assert last.input.dims == (48, 640, 3)
    assert last.max_batch_size == 16
    assert last.parameters["rows"] == "16"
    assert last.warm_up == (Call(16, (48, 640, 3)),)


def test_outputs_keep_the_dims_of_the_graph_even_where_the_input_is_fixed(model_set):
    """Triton's C++ backend compares the outputs' dims exactly with those of the ONNX file."""
    models = [
        *plan_detection(model_set, recipe(Layout.PER_SHAPE), TOP1_DETECTION),
        *plan_recognition(model_set, recipe(Layout.PER_SHAPE), TOP1_RECOGNITION, CHARSET),
    ]

    assert {output.dims for model in models for output in model.outputs} == {(-1, -1), (-1,)}


@pytest.mark.parametrize("layout", Layout)
def test_warming_up_can_be_left_out(model_set, layout: Layout):
    chosen = recipe(layout, warm_up=False)
    models = [
        *plan_detection(model_set, chosen, TOP1_DETECTION),
        *plan_recognition(model_set, chosen, TOP1_RECOGNITION, CHARSET),
    ]

    assert all(model.warm_up == () for model in models)


def test_original_graphs_keep_their_tensors_and_tell_how_pixels_are_normalised(model_set):
    (model,) = plan_recognition(model_set, recipe(graph=GraphKind.ORIGINAL), ORIGINAL_RECOGNITION, CHARSET)

    assert model.input == Tensor("x", "TYPE_FP32", (3, 48, -1))
    assert model.outputs == (Tensor("softmax_11.tmp_0", "TYPE_FP32", (-1, 5)),)
    assert model.warm_up[0] == Call(1, (3, 48, 320))
    normalization = json.loads(model.parameters["normalization"])
    assert normalization == {"mean": list(NORMALIZATION.mean), "scale": list(NORMALIZATION.scale)}


def test_models_tell_the_gateway_where_they_come_from_and_what_their_classes_mean(model_set):
    (detection,) = plan_detection(model_set, recipe(), TOP1_DETECTION)
    (recognition,) = plan_recognition(model_set, recipe(), TOP1_RECOGNITION, CHARSET)

    assert detection.parameters == {"graph": "top1", "model_set": "made", "source": "made 1.0, made/det.onnx"}
    assert recognition.parameters == {
        "graph": "top1",
        "model_set": "made",
        "source": "made 1.0, made/rec.onnx",
        "buckets": "320,640",
        "charset": "a\n\u3000\nc\n ",
    }


def test_names_can_be_chosen(model_set):
    chosen = recipe(Layout.PER_SHAPE, names=Names("original_detection", "original_recognition"))

    detection = next(plan_detection(model_set, chosen, TOP1_DETECTION))
    recognition = next(plan_recognition(model_set, chosen, TOP1_RECOGNITION, CHARSET))

    assert detection.name == "original_detection_h736_w736"
    assert recognition.name == "original_recognition_w320_r1"


@pytest.mark.parametrize("layout", Layout)
def test_names_are_unique_with_the_default_shapes(model_set, layout: Layout):
    chosen = recipe(layout, shapes=DEFAULT_SHAPES[layout])
    names = [
        *(model.name for model in plan_detection(model_set, chosen, TOP1_DETECTION)),
        *(model.name for model in plan_recognition(model_set, chosen, TOP1_RECOGNITION, CHARSET)),
    ]

    assert len(names) == len(set(names)) == {Layout.ANY: 2, Layout.PER_SHAPE: 32}[layout]
