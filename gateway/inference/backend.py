"""The seam between pipeline and inference server: four methods that Triton, ONNX Runtime and a test's fake share."""

from typing import Protocol

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.inference.contract import Contract


class Backend(Protocol):
    """Runs the two models. Implementations are safe for any number of calls at once on one event loop."""

    @property
    def contract(self) -> Contract:
        """What the served models take and give."""

    @property
    def last_answer_at(self) -> float:
        """When a model last answered, on the monotonic clock; 0 if never."""

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:
        """Probability of text per pixel of `image`, whose shape is one that the contract allows.

        Raises:
            BackendError: with the cause chained; InferenceTimeout after `timeout_s`.
        """

    async def recognize(self, rows: Rows, *, timeout_s: float) -> RowSteps:
        """Read one chunk, whose bucket and row count are ones that the contract allows.

        Raises:
            BackendError: with the cause chained; InferenceTimeout after `timeout_s`.
        """

    async def close(self) -> None:
        """Cancel what is in flight and release connections or sessions."""
