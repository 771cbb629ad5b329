"""Edits of ONNX graphs that move pre- and post-processing into the model.

A PP-OCR model takes normalised float32 NCHW and gives probabilities of every class. The edited one takes uint8 NHWC,
a quarter of the bytes, and the recogniser gives only what greedy CTC decoding needs: the most probable class of each
step, its probability, and the probability of the space. For 32 lines that is 15 KB instead of 96 MB. On request it
gives the next best classes of each step, too, as outputs of their own: who does not ask for them is not sent them.
Weights that are subnormal numbers are set to zero on the way.

The new nodes are of operator set 11, whose forms are valid in all later sets; `Gather` with a scalar index stands for
`Squeeze`, whose form changed in set 13.
"""

from collections.abc import Iterable
from enum import StrEnum

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

from triton_models.catalog import LINE_HEIGHT, Normalization
from triton_models.errors import GraphError
from triton_models.subnormals import flush_subnormal_weights


class GraphKind(StrEnum):
    """Which graphs a repository serves: edited ones, or the published files byte for byte."""

    TOP1 = "top1"
    ORIGINAL = "original"


DETECTION_INPUT = "image"
DETECTION_OUTPUT = "probability_map"
RECOGNITION_INPUT = "crops"
CLASS_INDEX = "class_index"
PROBABILITY = "probability"
SPACE_PROBABILITY = "space_probability"
"""Outputs of the edited recogniser, all (rows, steps)."""
ALTERNATIVE_CLASS_INDEX = "alternative_class_index"
ALTERNATIVE_PROBABILITY = "alternative_probability"
"""Outputs of one that gives alternatives, both (rows, steps, alternatives); the first is the top class itself."""

NO_ALTERNATIVES = 1
MAX_ALTERNATIVES = 10
"""As many as a request may ask for."""

OLDEST_OPERATOR_SET = 11
_CLASS_AXIS = 2
_NOTICE_KEY = "changes"
_NOTICE = (
    "input and output of the published model were replaced: uint8 NHWC BGR in, compact results out; "
    "weights too small to count are zero"
)


def edit_detection(model: onnx.ModelProto, normalization: Normalization) -> onnx.ModelProto:
    """A detector of `image`, uint8 (1, height, width, 3), to `probability_map`, uint8 (1, height, width).

    The map is round(255 p), half to even. The usual binarize threshold of 0.3 is 76.5 and falls exactly between two
    values, so the rounded map binarizes as the original one.

    Raises:
        GraphError: the model is not one float32 NCHW image to one probability map.
    """
    edited = _copy(model)
    probabilities = _only(edited.graph.output, "output").name
    _replace_input(edited.graph, DETECTION_INPUT, ("batch", "height", "width", 3), normalization)
    _append(
        edited.graph,
        _constant("edit.white", np.float32(255)),
        helper.make_node("Mul", [probabilities, "edit.white"], ["edit.scaled"]),
        helper.make_node("Round", ["edit.scaled"], ["edit.rounded"]),
        helper.make_node("Cast", ["edit.rounded"], ["edit.map"], to=TensorProto.UINT8),
        _constant("edit.first", np.int64(0)),
        helper.make_node("Gather", ["edit.map", "edit.first"], [DETECTION_OUTPUT], axis=1),
    )
    shape = ("batch", "height", "width")
    _replace_outputs(edited.graph, [helper.make_tensor_value_info(DETECTION_OUTPUT, TensorProto.UINT8, shape)])
    return _checked(edited)


def edit_recognition(
    model: onnx.ModelProto, normalization: Normalization, alternatives: int = NO_ALTERNATIVES
) -> onnx.ModelProto:
    """A recogniser of `crops`, uint8 (rows, 48, width, 3), to the top class of each step.

    Outputs, all (rows, steps): `class_index` int32, `probability` float32, `space_probability` float32. TopK finds the
    top class rather than ArgMax and ReduceMax: on GPUs it is twice as fast. Of equal classes both give the first.
    With `alternatives` above 1, so many classes of each step, the best first, and their probabilities are outputs, too.

    Raises:
        GraphError: the model is not one float32 NCHW image to probabilities (rows, steps, classes), or has fewer
            classes than are to be given.
    """
    edited = _copy(model)
    probabilities = _only(edited.graph.output, "output").name
    classes = class_count(edited)
    if not NO_ALTERNATIVES <= alternatives <= min(classes, MAX_ALTERNATIVES):
        raise GraphError(
            f"a recogniser of {classes} classes can give 1 to {min(classes, MAX_ALTERNATIVES)} alternatives, "
            f"not {alternatives}"
        )
    space = classes - 1
    _replace_input(edited.graph, RECOGNITION_INPUT, ("rows", LINE_HEIGHT, "width", 3), normalization)
    _append(
        edited.graph,
        _constant("edit.count", np.array([alternatives], np.int64)),
        helper.make_node("TopK", [probabilities, "edit.count"], ["edit.values", "edit.indices"], axis=_CLASS_AXIS),
        _constant("edit.first", np.int64(0)),
        helper.make_node("Gather", ["edit.values", "edit.first"], [PROBABILITY], axis=_CLASS_AXIS),
        helper.make_node("Gather", ["edit.indices", "edit.first"], ["edit.index"], axis=_CLASS_AXIS),
        helper.make_node("Cast", ["edit.index"], [CLASS_INDEX], to=TensorProto.INT32),
        _constant("edit.space", np.int64(space)),
        helper.make_node("Gather", [probabilities, "edit.space"], [SPACE_PROBABILITY], axis=_CLASS_AXIS),
    )
    types = {
        CLASS_INDEX: TensorProto.INT32,
        PROBABILITY: TensorProto.FLOAT,
        SPACE_PROBABILITY: TensorProto.FLOAT,
    }
    outputs = [helper.make_tensor_value_info(name, kind, ("rows", "steps")) for name, kind in types.items()]
    if alternatives > NO_ALTERNATIVES:
        outputs += _add_alternatives(edited.graph, alternatives)
    _replace_outputs(edited.graph, outputs)
    return _checked(edited)


def _add_alternatives(graph: onnx.GraphProto, alternatives: int) -> list[onnx.ValueInfoProto]:
    """Give all that TopK found, as two outputs."""
    _append(
        graph,
        helper.make_node("Cast", ["edit.indices"], [ALTERNATIVE_CLASS_INDEX], to=TensorProto.INT32),
        helper.make_node("Identity", ["edit.values"], [ALTERNATIVE_PROBABILITY]),
    )
    shape = ("rows", "steps", alternatives)
    return [
        helper.make_tensor_value_info(ALTERNATIVE_CLASS_INDEX, TensorProto.INT32, shape),
        helper.make_tensor_value_info(ALTERNATIVE_PROBABILITY, TensorProto.FLOAT, shape),
    ]


def class_count(model: onnx.ModelProto) -> int:
    """How many classes a recogniser as published has; GraphError if its output does not say."""
    output = _only(model.graph.output, "output")
    shape = output.type.tensor_type.shape.dim
    if len(shape) != 3 or shape[_CLASS_AXIS].dim_value < 2:
        raise GraphError(f"expected an output of (rows, steps, classes), got {_describe(output)}")
    return int(shape[_CLASS_AXIS].dim_value)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    version = max((entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"}), default=0)
    if version < OLDEST_OPERATOR_SET:
        raise GraphError(f"the model is of operator set {version}, the edits need {OLDEST_OPERATOR_SET} or newer")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    flush_subnormal_weights(copy.graph)
    # Apache-2.0, section 4b: modified files carry notices that they were changed.
    copy.metadata_props.add(key=_NOTICE_KEY, value=_NOTICE)
    return copy


def _only(values: Iterable[onnx.ValueInfoProto], kind: str) -> onnx.ValueInfoProto:
    found = list(values)
    if len(found) != 1:
        raise GraphError(f"expected one {kind}, got {len(found)}: {', '.join(value.name for value in found)}")
    return found[0]


def _replace_input(
    graph: onnx.GraphProto, name: str, shape: tuple[int | str, ...], normalization: Normalization
) -> None:
    """Feed what was the input from a new uint8 NHWC input; bytes are transposed before they grow to floats."""
    weights = {initializer.name for initializer in graph.initializer}
    old = _only((value for value in graph.input if value.name not in weights), "input")
    dims = old.type.tensor_type.shape.dim
    if old.type.tensor_type.elem_type != TensorProto.FLOAT or len(dims) != 4 or dims[1].dim_value != 3:
        raise GraphError(f"expected a float32 input of (rows, 3, height, width), got {_describe(old)}")
    nodes = [
        helper.make_node("Transpose", [name], ["edit.planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Cast", ["edit.planes"], ["edit.float"], to=TensorProto.FLOAT),
        _constant("edit.mean", _per_channel(normalization.mean)),
        helper.make_node("Sub", ["edit.float", "edit.mean"], ["edit.centred"]),
        _constant("edit.scale", _per_channel(normalization.scale)),
        helper.make_node("Mul", ["edit.centred", "edit.scale"], [old.name]),
    ]
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes, *rest])
    graph.input.remove(old)
    graph.input.insert(0, helper.make_tensor_value_info(name, TensorProto.UINT8, shape))


def _replace_outputs(graph: onnx.GraphProto, outputs: Iterable[onnx.ValueInfoProto]) -> None:
    del graph.output[:]
    graph.output.extend(outputs)


def _append(graph: onnx.GraphProto, *nodes: onnx.NodeProto) -> None:
    graph.node.extend(nodes)


def _constant(name: str, value: ArrayLike) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value), name))


def _per_channel(values: tuple[float, float, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.asarray(values, np.float32).reshape(1, 3, 1, 1)


def _describe(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    dims = ", ".join(dim.dim_param or str(dim.dim_value) for dim in tensor.shape.dim)
    return f"{value.name}: {helper.tensor_dtype_to_string(tensor.elem_type)} ({dims})"


def _checked(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise GraphError(f"the edited model is no valid ONNX: {error}") from error
    return model
