"""How pixels become a model's input tensors, and its output tensors become steps or a map: one codec per kind of graph.

Whatever comes back is checked before it is used: names, types, shapes, ranges. Nonsense from a server must not become
text, nor an IndexError three modules on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gateway.arrays import ProbabilityMap, RowSteps, StepAlternatives
from gateway.errors import UnexpectedOutput
from gateway.inference.contract import DetectionContract, EditedGraph, OriginalGraph, RecognitionContract

Tensors: TypeAlias = Mapping[str, NDArray[np.generic]]
"""Tensors of one call by name, the batch first."""

Pixels: TypeAlias = NDArray[np.uint8]
Scalar = TypeVar("Scalar", bound=np.generic)
Answer_co = TypeVar("Answer_co", covariant=True)

PROBABILITY_SLACK = 1e-3
"""How far a probability may lie outside 0..1: a softmax in half precision does not sum to one exactly."""


class Codec(Protocol[Answer_co]):
    """The layout of one kind of graph.

    Attributes:
        heavy: whether encoding and decoding take long enough to belong on a thread.
        outputs: names of the tensors to ask for.
    """

    @property
    def heavy(self) -> bool: ...  # noqa: D102 - described above

    @property
    def outputs(self) -> tuple[str, ...]: ...  # noqa: D102 - described above

    def encode(self, pixels: Pixels) -> Tensors:
        """The input tensors."""

    def decode(self, tensors: Tensors, shape: tuple[int, ...]) -> Answer_co:
        """What the output tensors say of pixels of this shape.

        Raises:
            UnexpectedOutput: they are not what such a graph answers.
        """


def detection_codec(contract: DetectionContract) -> Codec[ProbabilityMap]:
    """The codec from an `Image` to its map."""
    if isinstance(contract.graph, EditedGraph):
        return EditedDetection()
    return OriginalDetection(contract.graph)


def recognition_codec(contract: RecognitionContract, *, alternatives: bool = False) -> Codec[RowSteps]:
    """The codec from `Rows` to their steps; with the alternatives that the models give, if they are wanted."""
    classes = len(contract.charset)
    if isinstance(contract.graph, EditedGraph):
        return EditedRecognition(classes, contract.alternatives if alternatives else 0)
    return OriginalRecognition(contract.graph, classes)


@dataclass(frozen=True, slots=True)
class EditedDetection:
    """uint8 (1, height, width, 3) in; uint8 (1, height, width) out."""

    heavy: ClassVar[bool] = False
    outputs: ClassVar[tuple[str, ...]] = ("probability_map",)

    def encode(self, pixels: Pixels) -> Tensors:
        """A batch of one."""
        return {"image": pixels[np.newaxis]}

    def decode(self, tensors: Tensors, shape: tuple[int, ...]) -> ProbabilityMap:
        """The map as it came."""
        height, width, _ = shape
        return _expect(tensors, "probability_map", np.uint8, (1, height, width)).reshape(height, width)


@dataclass(frozen=True, slots=True)
class OriginalDetection:
    """float32 (1, 3, height, width) in; probabilities, float32 (1, 1, height, width), out."""

    graph: OriginalGraph
    heavy: ClassVar[bool] = True

    @property
    def outputs(self) -> tuple[str, ...]:
        """The graph's one output."""
        return (self.graph.output_name,)

    def encode(self, pixels: Pixels) -> Tensors:
        """A batch of one, normalised."""
        return {self.graph.input_name: _normalized(pixels[np.newaxis], self.graph)}

    def decode(self, tensors: Tensors, shape: tuple[int, ...]) -> ProbabilityMap:
        """The map, rounded as the edited graph rounds it."""
        name, (height, width, _) = self.graph.output_name, shape
        probabilities = _expect(tensors, name, np.float32, (1, 1, height, width)).reshape(height, width)
        _require_probabilities(name, probabilities)
        rounded: ProbabilityMap = np.rint(np.clip(probabilities, 0, 1) * np.float32(255)).astype(np.uint8)
        return rounded


@dataclass(frozen=True, slots=True)
class EditedRecognition:
    """uint8 (rows, line height, width, 3) in; (rows, steps) of three kinds out.

    Attributes:
        classes: how many there are, with the blank.
        alternatives: how many classes of each step to ask for besides, in (rows, steps, alternatives); 0 for none.
    """

    classes: int
    alternatives: int = 0
    heavy: ClassVar[bool] = False

    @property
    def outputs(self) -> tuple[str, ...]:
        """Three, and two more with alternatives."""
        steps = ("class_index", "probability", "space_probability")
        return (*steps, "alternative_class_index", "alternative_probability") if self.alternatives else steps

    def encode(self, pixels: Pixels) -> Tensors:
        """The rows as they are."""
        return {"crops": pixels}

    def decode(self, tensors: Tensors, shape: tuple[int, ...]) -> RowSteps:
        """The tensors as they came."""
        class_index = _expect(tensors, "class_index", np.int32, (shape[0], None))
        steps = RowSteps(
            class_index,
            _expect(tensors, "probability", np.float32, class_index.shape),
            _expect(tensors, "space_probability", np.float32, class_index.shape),
            self._alternatives(tensors, class_index) if self.alternatives else None,
        )
        self._require_classes(class_index)
        _require_probabilities("probability", steps.probability)
        _require_probabilities("space_probability", steps.space_probability)
        return steps

    def _alternatives(self, tensors: Tensors, top: NDArray[np.int32]) -> StepAlternatives:
        shape = (*top.shape, self.alternatives)
        class_index = _expect(tensors, "alternative_class_index", np.int32, shape)
        probability = _expect(tensors, "alternative_probability", np.float32, shape)
        self._require_classes(class_index)
        _require_probabilities("alternative_probability", probability)
        if not np.array_equal(class_index[..., 0], top):
            raise UnexpectedOutput("the first of the alternatives is not everywhere the top class")
        return StepAlternatives(class_index, probability)

    def _require_classes(self, class_index: NDArray[np.int32]) -> None:
        lowest, highest = class_index.min(), class_index.max()
        if lowest < 0 or highest >= self.classes:
            raise UnexpectedOutput(
                f"the model answered classes {lowest} to {highest}, but its charset has {self.classes} classes"
            )


@dataclass(frozen=True, slots=True)
class OriginalRecognition:
    """float32 (rows, 3, line height, width) in; probabilities, float32 (rows, steps, classes), out.

    Attributes:
        classes: how many there are, with the blank; the last is the space.
    """

    graph: OriginalGraph
    classes: int
    heavy: ClassVar[bool] = True

    @property
    def outputs(self) -> tuple[str, ...]:
        """The graph's one output."""
        return (self.graph.output_name,)

    def encode(self, pixels: Pixels) -> Tensors:
        """The rows, normalised."""
        return {self.graph.input_name: _normalized(pixels, self.graph)}

    def decode(self, tensors: Tensors, shape: tuple[int, ...]) -> RowSteps:
        """The best class of each step, and the space; copied, so that the many other classes can be freed."""
        name = self.graph.output_name
        probabilities = _expect(tensors, name, np.float32, (shape[0], None, self.classes))
        class_index = probabilities.argmax(axis=2)
        probability = np.take_along_axis(probabilities, class_index[..., np.newaxis], axis=2)[..., 0]
        _require_probabilities(name, probability)
        return RowSteps(class_index.astype(np.int32), probability, probabilities[..., -1].copy())


def _normalized(images: NDArray[np.uint8], graph: OriginalGraph) -> NDArray[np.float32]:
    """float32 NCHW of uint8 NHWC."""
    planes = images.transpose(0, 3, 1, 2)
    mean, scale = (np.array(three, np.float32).reshape(3, 1, 1) for three in (graph.mean, graph.scale))
    return np.ascontiguousarray((planes - mean) * scale)


def _expect(tensors: Tensors, name: str, dtype: type[Scalar], shape: tuple[int | None, ...]) -> NDArray[Scalar]:
    """The tensor, once name, type and shape are right; None is any size above zero."""
    if name not in tensors:
        raise UnexpectedOutput(f"the model answered {sorted(tensors)}, without {name!r}")
    tensor = tensors[name]
    fits = tensor.ndim == len(shape) and all(
        size == want or (want is None and size > 0) for want, size in zip(shape, tensor.shape, strict=True)
    )
    if tensor.dtype != dtype or not fits:
        want = [-1 if size is None else size for size in shape]
        raise UnexpectedOutput(f"{name!r} is {tensor.dtype} {list(tensor.shape)}, expected {np.dtype(dtype)} {want}")
    return tensor.astype(dtype, copy=False)


def _require_probabilities(name: str, values: NDArray[np.float32]) -> None:
    """Refuse what lies outside 0..1; not-a-number fails both comparisons."""
    lowest, highest = values.min(), values.max()
    if not (lowest >= -PROBABILITY_SLACK and highest <= 1 + PROBABILITY_SLACK):
        raise UnexpectedOutput(f"{name!r} has values from {lowest} to {highest}, expected probabilities")
