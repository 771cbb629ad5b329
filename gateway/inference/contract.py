"""What the served models take and give, read from their Triton configurations.

A repository holds either one model for any shape, or one model per shape (GPUs: see docs/models.md). Both are one
table: `place` finds the model that serves a shape. Everything the gateway must know about a model set travels in the models'
configurations, so that gateway and models can't disagree: the charset, the buckets, the normalisation.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DetectionModel:
    """One served detection model.

    Attributes:
        name, version: in Triton.
        shape: the one (height, width) it takes; None for any.
    """

    name: str
    version: str
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
    version: str
    bucket_width: int | None = None
    rows: int | None = None
    max_rows: int = 64


@dataclass(frozen=True, slots=True)
class DetectionContract:
    """The detection models as a table.

    Attributes:
        models: one for any shape, or one per shape.
        side_multiple: both sides of an input are multiples of this.
    """

    models: tuple[DetectionModel, ...]
    side_multiple: int = 32

    @property
    def shapes(self) -> tuple[tuple[int, int], ...] | None:
        """The closed set of (height, width), smallest area first; None when any shape is served."""
        raise NotImplementedError

    def place(self, height: int, width: int) -> DetectionModel:
        """The model that serves this very shape; ContractError if none does."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RecognitionContract:
    """The recognition models as a table.

    Attributes:
        models: one for any shape, or one per (bucket, rows).
        line_height: rows of pixels in a line.
        buckets: the widths that lines are padded to, ascending.
        charset: text of each class; class 0 is the blank and has none.
    """

    models: tuple[RecognitionModel, ...]
    line_height: int
    buckets: tuple[int, ...]
    charset: tuple[str, ...]

    def max_rows(self, bucket_width: int) -> int:
        """The most rows that one call with this bucket may carry."""
        raise NotImplementedError

    def place(self, bucket_width: int, rows: int) -> RecognitionModel:
        """The model that serves this bucket with at least this many rows; ContractError if none does."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Contract:
    """Both halves.

    Attributes:
        model_set: name of the set in the catalog, such as "ppocrv6-small".
    """

    model_set: str
    detection: DetectionContract
    recognition: RecognitionContract
