"""Reading the contract from the models' Triton configurations (`config.pbtxt`, or Triton's answer to ModelConfig).

Tensors are checked against what a codec will send and expect, and what the models say of themselves against each other,
so that a mismatch is an error at start, with both sides in its message, and not wrong text later.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig

from gateway.errors import ContractError
from gateway.inference.contract import (
    Contract,
    DetectionContract,
    DetectionModel,
    EditedGraph,
    Graph,
    OriginalGraph,
    RecognitionContract,
    RecognitionModel,
)

T = TypeVar("T")

SHARE = "share"
"""The parameter of a candidate's recognisers (`triton_models.releases`)."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as it is served.

    Attributes:
        config: its complete configuration.
        version: the version that answers.
    """

    config: ModelConfig
    version: str


@dataclass(frozen=True, slots=True)
class TensorShape:
    """What a tensor must be.

    Attributes:
        data_type: Triton's name of the type.
        dims: without the batch; None where any size will do, fixed or not.
    """

    data_type: str
    dims: tuple[int | None, ...]


IMAGE = TensorShape("TYPE_UINT8", (None, None, 3))
PROBABILITY_MAP = TensorShape("TYPE_UINT8", (None, None))
CLASS_INDEX = TensorShape("TYPE_INT32", (None,))
PROBABILITY = TensorShape("TYPE_FP32", (None,))
ALTERNATIVE_CLASSES = TensorShape("TYPE_INT32", (None, None))
ALTERNATIVE_PROBABILITIES = TensorShape("TYPE_FP32", (None, None))
ORIGINAL_IMAGE = TensorShape("TYPE_FP32", (3, None, None))
ORIGINAL_MAP = TensorShape("TYPE_FP32", (1, None, None))
ORIGINAL_CLASSES = TensorShape("TYPE_FP32", (None, None))


def names_per_shape(name: str, candidates: Iterable[str]) -> list[str]:
    """The candidates that are called `name` and a shape, such as `text_recognition_w320_r8`; in alphabetical order."""
    pattern = re.compile(re.escape(name) + r"_(h\d+_w\d+|w\d+_r\d+)")
    return sorted({candidate for candidate in candidates if pattern.fullmatch(candidate)})


def read_contract(*, detection: Sequence[ServedModel], recognition: Sequence[ServedModel]) -> Contract:
    """The contract of these models, at least one of each kind.

    Raises:
        ContractError: a configuration lacks something, contradicts itself or another one, or is not understood.
    """
    served = [*detection, *recognition]
    return Contract(
        model_set=_agreed("model_set", {one.config.name: _parameter(one.config, "model_set") for one in served}),
        detection=_read_detection(detection),
        recognition=_read_recognition(recognition),
        share=read_share(recognition),
    )


def read_share(served: Sequence[ServedModel]) -> float | None:
    """Per cent of the requests that a candidate reads, where its models say so."""
    texts = {one.config.name: str(one.config.parameters[SHARE].string_value) for one in served if _has_share(one)}
    if not texts:
        return None
    text = _agreed("share", texts)
    try:
        return float(text)
    except ValueError as error:
        raise ContractError(f"parameter {SHARE!r} is {text!r}, expected a number of per cent") from error


def _has_share(served: ServedModel) -> bool:
    return SHARE in served.config.parameters


def _read_detection(served: Sequence[ServedModel]) -> DetectionContract:
    graphs = {one.config.name: _graph(one.config) for one in served}
    graph = _agreed("graph", graphs)
    return DetectionContract(models=tuple(_detection_model(one, graph) for one in served), graph=graph)


def _detection_model(served: ServedModel, graph: Graph) -> DetectionModel:
    config = served.config
    _max_batch_size(config)
    if isinstance(graph, EditedGraph):
        height, width, _ = _tensor(config, "input", "image", IMAGE)
        _tensor(config, "output", "probability_map", PROBABILITY_MAP)
    else:
        _, height, width = _tensor(config, "input", graph.input_name, ORIGINAL_IMAGE)
        _tensor(config, "output", graph.output_name, ORIGINAL_MAP)
    return DetectionModel(config.name, served.version, _detection_shape(config, height, width))


def _detection_shape(config: ModelConfig, height: int, width: int) -> tuple[int, int] | None:
    if height < 0 and width < 0:
        return None
    if height < 0 or width < 0:
        raise ContractError(f"{config.name} takes {height}x{width} pixels; both sides must be fixed, or none")
    return height, width


def _read_recognition(served: Sequence[ServedModel]) -> RecognitionContract:
    graph = _agreed("graph", {one.config.name: _graph(one.config) for one in served})
    charset = _read_charset(served)
    shapes = {one.config.name: _line_shape(one.config, graph, charset) for one in served}
    models = tuple(_recognition_model(one, shapes[one.config.name][1]) for one in served)
    return RecognitionContract(
        models=models,
        line_height=_agreed("line height", {name: height for name, (height, _) in shapes.items()}),
        buckets=_buckets(served, models),
        charset=charset,
        graph=graph,
        alternatives=_agreed("alternatives", {one.config.name: _alternatives(one.config) for one in served}),
    )


def _alternatives(config: ModelConfig) -> int:
    """How many classes of each step the model can give; 0 if only the top one, as every model does."""
    if all(output.name != "alternative_class_index" for output in config.output):
        return 0
    _, count = _tensor(config, "output", "alternative_class_index", ALTERNATIVE_CLASSES)
    _, probabilities = _tensor(config, "output", "alternative_probability", ALTERNATIVE_PROBABILITIES)
    if count < 1 or probabilities != count:
        raise ContractError(f"{config.name} gives {count} alternative classes, but {probabilities} probabilities")
    return count


def _line_shape(config: ModelConfig, graph: Graph, charset: Sequence[str]) -> tuple[int, int]:
    """Height and width of the model's lines, checked; the width is -1 for any."""
    if isinstance(graph, EditedGraph):
        height, width, _ = _tensor(config, "input", "crops", IMAGE)
        _tensor(config, "output", "class_index", CLASS_INDEX)
        _tensor(config, "output", "probability", PROBABILITY)
        _tensor(config, "output", "space_probability", PROBABILITY)
    else:
        _, height, width = _tensor(config, "input", graph.input_name, ORIGINAL_IMAGE)
        _, classes = _tensor(config, "output", graph.output_name, ORIGINAL_CLASSES)
        if classes not in (-1, len(charset)):
            raise ContractError(f"{config.name} knows {classes} classes, but its charset has {len(charset)}")
    if height < 0:
        raise ContractError(f"{config.name} does not fix the height of its lines")
    return height, width


def _recognition_model(served: ServedModel, width: int) -> RecognitionModel:
    config = served.config
    max_rows = _max_batch_size(config)
    rows = _whole_number(config, "rows", _parameter(config, "rows")) if "rows" in config.parameters else None
    if rows is not None and rows > max_rows:
        raise ContractError(f"{config.name} takes {rows} rows, but its max_batch_size is {max_rows}")
    return RecognitionModel(config.name, served.version, width if width > 0 else None, rows, max_rows)


def _buckets(served: Sequence[ServedModel], models: Sequence[RecognitionModel]) -> tuple[int, ...]:
    """The widths that the models fix, or those that they name if they fix none."""
    fixed = {model.bucket_width for model in models if model.bucket_width is not None}
    if fixed:
        loose = [model.name for model in models if model.bucket_width is None]
        if loose:
            raise ContractError(f"{', '.join(loose)} takes any width, but others fix theirs: {sorted(fixed)}")
        return tuple(sorted(fixed))
    return _agreed("buckets", {one.config.name: _named_buckets(one.config) for one in served})


def _named_buckets(config: ModelConfig) -> tuple[int, ...]:
    widths = [_whole_number(config, "buckets", width) for width in _parameter(config, "buckets").split(",")]
    return tuple(sorted(set(widths)))


def _read_charset(served: Sequence[ServedModel]) -> tuple[str, ...]:
    """Text of each class. Class 0 is the blank, the last one the space; CTC and the codecs rely on both.

    It is compared in one piece and cut once: dozens of models of one shape each carry the same 18,000 texts.
    """
    text = _agreed(
        "charset",
        {one.config.name: _parameter(one.config, "charset") for one in served},
        lambda text: f"{len(_split_charset(text))} classes",
    )
    name, charset = served[0].config.name, _split_charset(text)
    if "" in charset[1:]:
        raise ContractError(f"{name}: class {charset.index('', 1)} of {len(charset)} in its charset has no text")
    if charset[-1] != " ":
        raise ContractError(f"{name}: the last of {len(charset)} classes is {charset[-1]!r}, not the space")
    return charset


def _split_charset(text: str) -> tuple[str, ...]:
    return ("", *text.split("\n"))


def _graph(config: ModelConfig) -> Graph:
    known: Mapping[str, Callable[[ModelConfig], Graph]] = {"top1": lambda _: EditedGraph(), "original": _original}
    name = _parameter(config, "graph")
    if name not in known:
        raise ContractError(f"{config.name} has graph {name!r}; known graphs: {', '.join(known)}")
    return known[name](config)


def _original(config: ModelConfig) -> OriginalGraph:
    if len(config.input) != 1 or len(config.output) != 1:
        raise ContractError(
            f"{config.name} has {len(config.input)} inputs and {len(config.output)} outputs; "
            "an original graph has one of each"
        )
    mean, scale = _normalization(config)
    return OriginalGraph(config.input[0].name, config.output[0].name, mean, scale)


def _normalization(config: ModelConfig) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    text = _parameter(config, "normalization")
    try:
        values = json.loads(text)
        mean_b, mean_g, mean_r = map(float, values["mean"])
        scale_b, scale_g, scale_r = map(float, values["scale"])
    except (ValueError, TypeError, KeyError) as error:
        raise ContractError(
            f"{config.name}: normalization is {text!r}, not JSON with three numbers each in 'mean' and 'scale'"
        ) from error
    return (mean_b, mean_g, mean_r), (scale_b, scale_g, scale_r)


def _tensor(config: ModelConfig, side: str, name: str, expected: TensorShape) -> tuple[int, ...]:
    """The tensor's dims, once name, type and rank are right; -1 where any size will do."""
    tensors = {tensor.name: tensor for tensor in getattr(config, side)}
    if name not in tensors:
        raise ContractError(f"{config.name} has no {side} {name!r}; it has {', '.join(tensors) or 'none'}")
    data_type, dims = DataType.Name(tensors[name].data_type), tuple(tensors[name].dims)
    fits = len(dims) == len(expected.dims) and all(
        want in (None, dim) for want, dim in zip(expected.dims, dims, strict=True)
    )
    if data_type != expected.data_type or not fits:
        want = [-1 if dim is None else dim for dim in expected.dims]
        raise ContractError(
            f"{side} {name!r} of {config.name} is {data_type} {list(dims)}, expected {expected.data_type} {want}"
        )
    return dims


def _max_batch_size(config: ModelConfig) -> int:
    if config.max_batch_size < 1:
        raise ContractError(f"{config.name} has max_batch_size {config.max_batch_size}, expected 1 or more")
    return int(config.max_batch_size)


def _parameter(config: ModelConfig, key: str) -> str:
    if key not in config.parameters:
        raise ContractError(f"{config.name} has no parameter {key!r}; rebuild the model repository")
    return str(config.parameters[key].string_value)


def _whole_number(config: ModelConfig, key: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) == 0:
        raise ContractError(f"{config.name}: parameter {key!r} has {text!r}, expected a whole number above 0")
    return int(text)


def _agreed(what: str, values: Mapping[str, T], show: Callable[[T], str] = repr) -> T:
    """The one value that all models give."""
    (first_name, first), *others = values.items()
    for name, value in others:
        if value != first:
            raise ContractError(f"{what} of {first_name} is {show(first)}, but of {name} {show(value)}")
    return first
