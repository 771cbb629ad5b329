"""What the served models take and give.

A repository holds either one model for any shape, or one model per shape (GPUs: see docs/models.md). Both are one
table: `place` finds the model that serves a shape. Everything the gateway must know about a model set travels in the
models' configurations, so that gateway and models can't disagree: the charset, the buckets, the normalisation.
`gateway.inference.configs` reads it.

Two contracts are equal when they ask for the same arrays and mean the same classes: versions are left out of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.errors import ContractError, InvalidRequest


@dataclass(frozen=True, slots=True)
class EditedGraph:
    """A graph edited by the builder: uint8 NHWC in, top-1 classes or a uint8 map out. Its tensors' names are fixed."""


@dataclass(frozen=True, slots=True)
class OriginalGraph:
    """A graph as published: float32 NCHW in, float32 probabilities out.

    Attributes:
        input_name, output_name: of its tensors; every exporter has its own.
        mean, scale: per channel in BGR order; the graph wants `(pixel - mean) * scale`.
    """

    input_name: str
    output_name: str
    mean: tuple[float, float, float]
    scale: tuple[float, float, float]


Graph: TypeAlias = EditedGraph | OriginalGraph


@dataclass(frozen=True, slots=True)
class DetectionModel:
    """One served detection model.

    Attributes:
        name, version: in Triton.
        shape: the one (height, width) it takes; None for any.
    """

    name: str
    version: str = field(compare=False)
    shape: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class RecognitionModel:
    """One served recognition model.

    Attributes:
        name, version: in Triton.
        bucket_width: the one width it takes; None for any.
        rows: the one number of rows it takes; None for any up to `max_rows`.
        max_rows: the most rows a call may carry.
    """

    name: str
    version: str = field(compare=False)
    bucket_width: int | None = None
    rows: int | None = None
    max_rows: int = 64

    @property
    def capacity(self) -> int:
        """The most lines that one call can carry."""
        return self.rows or self.max_rows

    def serves(self, bucket_width: int) -> bool:
        """Whether it takes lines of this bucket."""
        return self.bucket_width in (None, bucket_width)


@dataclass(frozen=True, slots=True)
class DetectionContract:
    """The detection models as a table.

    Attributes:
        models: one for any shape, or one per shape.
        side_multiple: both sides of an input are multiples of this.
        graph: how an image is laid out for these models.
    """

    models: tuple[DetectionModel, ...]
    side_multiple: int = 32
    graph: Graph = EditedGraph()

    @property
    def shapes(self) -> tuple[tuple[int, int], ...] | None:
        """The closed set of (height, width), smallest area first; None when any shape is served."""
        shapes = [model.shape for model in self.models if model.shape is not None]
        if len(shapes) < len(self.models):
            return None
        return tuple(sorted(shapes, key=lambda shape: (shape[0] * shape[1], shape)))

    def place(self, height: int, width: int) -> DetectionModel:
        """The model that serves this very shape; ContractError if none does."""
        fits = [model for model in self.models if model.shape in (None, (height, width))]
        if not fits or height % self.side_multiple or width % self.side_multiple:
            served = self.shapes or f"all multiples of {self.side_multiple}"
            raise ContractError(f"no model detects text in {height}x{width} pixels; served shapes: {served}")
        return max(fits, key=lambda model: model.shape is not None)


@dataclass(frozen=True, slots=True)
class RecognitionContract:
    """The recognition models as a table.

    Attributes:
        models: one for any shape, or one per (bucket, rows).
        line_height: rows of pixels in a line.
        buckets: the widths that lines are padded to, ascending.
        charset: text of each class, so that `charset[class_index]` is a step's text; class 0 is the blank, and empty.
        graph: how rows are laid out for these models.
        alternatives: how many classes of each step these models can give, the top one with them; 0 for it alone.
    """

    models: tuple[RecognitionModel, ...]
    line_height: int
    buckets: tuple[int, ...]
    charset: tuple[str, ...]
    graph: Graph = EditedGraph()
    alternatives: int = 0

    def max_rows(self, bucket_width: int) -> int:
        """The most rows that one call with this bucket may carry; 0 for a bucket that is not served."""
        return max((model.capacity for model in self._serving(bucket_width)), default=0)

    def place(self, bucket_width: int, rows: int) -> RecognitionModel:
        """The tightest model that serves this bucket with at least this many rows; ContractError if none does."""
        fits = [model for model in self._serving(bucket_width) if 0 < rows <= model.capacity]
        if not fits:
            raise ContractError(
                f"no model reads {rows} rows of {bucket_width} pixels; served buckets: {self.buckets}, "
                f"rows of this one: up to {self.max_rows(bucket_width)}"
            )
        return min(fits, key=lambda model: model.rows or rows)

    def _serving(self, bucket_width: int) -> list[RecognitionModel]:
        if bucket_width not in self.buckets:
            return []
        return [model for model in self.models if model.serves(bucket_width)]


@dataclass(frozen=True, slots=True)
class Contract:
    """Both halves.

    Attributes:
        model_set: name of the set in the catalog, such as "ppocrv6-small".
        share: for a candidate, how many per cent of the requests it reads; None if nobody is to be told of it.
    """

    model_set: str
    detection: DetectionContract
    recognition: RecognitionContract
    share: float | None = field(default=None, compare=False)


def difference(ours: Contract, theirs: Contract) -> str:
    """The first thing in which theirs differs from ours, in words; empty if they are equal."""
    if ours == theirs:
        return ""
    our_facts, their_facts = _facts(ours), _facts(theirs)
    differing = (name for name, fact in our_facts.items() if fact != their_facts[name])
    name = next(differing, None)
    if name is None:
        return _charset_difference(ours.recognition.charset, theirs.recognition.charset)
    return f"{name}: {their_facts[name]!r} here, {our_facts[name]!r} in use"


def require_alternatives(asked: int, given: int) -> None:
    """Refuse what the models can't do.

    Args:
        asked: how many alternatives a request wants for each character.
        given: `RecognitionContract.alternatives`.

    Raises:
        InvalidRequest: the models give fewer, or none; it says how to build some that do.
    """
    if asked > given:
        can = f"give at most {given}" if given else "give none"
        raise InvalidRequest(
            f"alternatives is {asked}, but the models that are served {can}; those built with "
            f"python -m triton_models build --alternatives {asked} do"
        )


def _facts(contract: Contract) -> dict[str, object]:
    """What two contracts that differ most likely differ in, the most telling first."""
    detection, recognition = contract.detection, contract.recognition
    names = [model.name for model in detection.models] + [model.name for model in recognition.models]
    return {
        "model set": contract.model_set,
        "classes": len(recognition.charset),
        "models": names,
        "line height": recognition.line_height,
        "buckets": recognition.buckets,
        "alternatives": recognition.alternatives,
        "graphs": (detection.graph, recognition.graph),
    }


def _charset_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if our != their:
            return f"class {number}: {their!r} here, {our!r} in use"
    return "shapes of the models: others than in use"
