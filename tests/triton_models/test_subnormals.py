import numpy as np
import onnx
import pytest
from made_models import NORMALIZATION, made_detection
from onnx import helper, numpy_helper

from triton_models.graph import edit_detection
from triton_models.subnormals import flush_subnormal_weights

SUBNORMAL = 1e-40
SMALLEST_NORMAL = 1.17549435e-38


def graph_of(*, initializer: list[float] = (), constant: list[float] = ()) -> onnx.GraphProto:
    tensors = [
        numpy_helper.from_array(np.float32(values), name)
        for name, values in (("weights", initializer), ("constant", constant))
    ]
    node = helper.make_node("Constant", [], ["constant"], value=tensors[1])
    return helper.make_graph([node], "made", [], [], initializer=tensors[:1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []),
        ([0.0, 1.0, -2.5], [0.0, 1.0, -2.5]),
        ([SUBNORMAL, -SUBNORMAL, 3.0], [0.0, 0.0, 3.0]),
        ([SMALLEST_NORMAL, -SMALLEST_NORMAL], [SMALLEST_NORMAL, -SMALLEST_NORMAL]),
    ],
)
def test_subnormal_weights_become_zero_and_no_others_change(before: list[float], after: list[float]):
    graph = graph_of(initializer=before, constant=before)

    flushed = flush_subnormal_weights(graph)

    (node,) = graph.node
    weights = [numpy_helper.to_array(tensor) for tensor in (graph.initializer[0], node.attribute[0].t)]
    assert all(np.array_equal(values, np.float32(after)) for values in weights)
    assert flushed == 2 * sum(abs(value) == SUBNORMAL for value in before)


def test_an_edited_model_has_none_and_the_published_one_stays_as_it_is():
    published = made_detection()
    kernel = numpy_helper.to_array(published.graph.initializer[0]).copy()
    kernel[0, 0, 0, 0] = SUBNORMAL
    published.graph.initializer[0].CopyFrom(numpy_helper.from_array(kernel, "kernel"))

    edited = edit_detection(published, NORMALIZATION)

    assert flush_subnormal_weights(edited.graph) == 0
    assert numpy_helper.to_array(published.graph.initializer[0])[0, 0, 0, 0] == np.float32(SUBNORMAL)
