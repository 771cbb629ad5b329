"""Which Triton models a repository holds; `configs` writes them down."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from triton_models.catalog import LINE_HEIGHT, ModelFile, ModelSet
from triton_models.errors import GraphError
from triton_models.graph import NO_ALTERNATIVES, GraphKind
from triton_models.layouts import MAX_ROWS, Layout, Shapes, chunk_rows, recognition_shapes
from triton_models.signature import ANY_SIZE, Signature, Tensor


@dataclass(frozen=True, slots=True)
class Names:
    """What the models are called in Triton; in layout "per-shape" the shape follows."""

    detection: str = "text_detection"
    recognition: str = "text_recognition"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is built; everything that determines the models, except the files they come from.

    Attributes:
        layout, graph, shapes, names: see there.
        warm_up: run models when they are loaded, before they are ready.
        alternatives: how many classes of each step the recogniser can give; 1 for the top one alone.

    Raises:
        GraphError: alternatives of a graph that stays as it is.
    """

    layout: Layout
    graph: GraphKind
    shapes: Shapes
    names: Names = Names()
    warm_up: bool = True
    alternatives: int = NO_ALTERNATIVES

    def __post_init__(self) -> None:
        if self.graph is GraphKind.ORIGINAL and self.alternatives != NO_ALTERNATIVES:
            raise GraphError("alternatives are an edit of the graph; leave out --graph original, or them")


@dataclass(frozen=True, slots=True)
class Call:
    """One shape of a call, for warming up.

    Attributes:
        rows: the batch.
        dims: of the input, without the batch.
    """

    rows: int
    dims: tuple[int, ...]


class Kind(StrEnum):
    """What a model does."""

    DETECTION = "detection"
    RECOGNITION = "recognition"


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """One Triton model.

    Attributes:
        kind: what it does.
        name: in Triton.
        input, outputs: its tensors.
        max_batch_size: the most rows of a call.
        parameters: what the gateway reads.
        warm_up: the calls made before the model is ready.
    """

    kind: Kind
    name: str
    input: Tensor
    outputs: tuple[Tensor, ...]
    max_batch_size: int
    parameters: Mapping[str, str]
    warm_up: tuple[Call, ...]


def plan_detection(model_set: ModelSet, recipe: Recipe, signature: Signature) -> Iterator[PlannedModel]:
    """The detectors: one, or one per shape."""
    parameters = _parameters(model_set, model_set.detection, recipe.graph)
    calls = [Call(1, _pixels(recipe.graph, *shape)) for shape in recipe.shapes.detection]
    anything = PlannedModel(
        kind=Kind.DETECTION,
        name=recipe.names.detection,
        input=replace(signature.inputs[0], dims=_pixels(recipe.graph, ANY_SIZE, ANY_SIZE)),
        outputs=signature.outputs,
        # A page's map must not depend on what shares its batch, and pages seldom have equal shapes anyway.
        max_batch_size=1,
        parameters=parameters,
        warm_up=tuple(calls) if recipe.warm_up else (),
    )
    if recipe.layout is Layout.ANY:
        yield anything
        return
    for (height, width), call in zip(recipe.shapes.detection, calls, strict=True):
        yield _fixed(anything, f"{anything.name}_h{height}_w{width}", call)


def plan_recognition(
    model_set: ModelSet, recipe: Recipe, signature: Signature, charset: tuple[str, ...]
) -> Iterator[PlannedModel]:
    """The recognisers: one, or one per bucket and number of rows."""
    parameters = {
        **_parameters(model_set, model_set.recognition, recipe.graph),
        "buckets": ",".join(map(str, recipe.shapes.buckets)),
        "charset": "\n".join(charset),
    }
    anything = PlannedModel(
        kind=Kind.RECOGNITION,
        name=recipe.names.recognition,
        input=replace(signature.inputs[0], dims=_pixels(recipe.graph, LINE_HEIGHT, ANY_SIZE)),
        outputs=signature.outputs,
        max_batch_size=MAX_ROWS,
        parameters=parameters,
        warm_up=tuple(_bucket_calls(recipe)) if recipe.warm_up else (),
    )
    if recipe.layout is Layout.ANY:
        yield anything
        return
    for width, rows in recognition_shapes(recipe.shapes):
        call = Call(rows, _pixels(recipe.graph, LINE_HEIGHT, width))
        model = replace(anything, max_batch_size=rows, parameters={**parameters, "rows": str(rows)})
        yield _fixed(model, f"{model.name}_w{width}_r{rows}", call)


def _fixed(model: PlannedModel, name: str, call: Call) -> PlannedModel:
    """The same model for the shape of this call alone. Outputs stay as they are: see `signature`."""
    return replace(
        model,
        name=name,
        input=replace(model.input, dims=call.dims),
        warm_up=(call,) if model.warm_up else (),
    )


def _bucket_calls(recipe: Recipe) -> Iterator[Call]:
    """One row in every bucket and one full chunk.

    A CPU is no slower with a new shape; what the first call pays for is memory, and full chunks all need the same.
    """
    for width in recipe.shapes.buckets:
        yield Call(1, _pixels(recipe.graph, LINE_HEIGHT, width))
    widest = recipe.shapes.buckets[-1]
    yield Call(chunk_rows(widest), _pixels(recipe.graph, LINE_HEIGHT, widest))


def _pixels(graph: GraphKind, height: int, width: int) -> tuple[int, ...]:
    """Dims of an image of this size: channels last in edited graphs, first in original ones."""
    return (height, width, 3) if graph is GraphKind.TOP1 else (3, height, width)


def _parameters(model_set: ModelSet, model: ModelFile, graph: GraphKind) -> dict[str, str]:
    wheel = model_set.wheel
    parameters = {
        "graph": graph.value,
        "model_set": model_set.name,
        "source": f"{wheel.project} {wheel.version}, {model.member}",
    }
    if graph is GraphKind.ORIGINAL:
        normalization = {"mean": model.normalization.mean, "scale": model.normalization.scale}
        parameters["normalization"] = json.dumps(normalization)
    return parameters
