"""The seam between pipeline and inference server: a few methods that Triton, ONNX Runtime and a test's fake share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.inference.contract import Contract


@dataclass(frozen=True, slots=True)
class EndpointStatus:
    """What one server is doing, for operators.

    Attributes:
        address: host:port.
        state: one word; it takes calls when it is "serving".
        reason: why it does not; empty if it does.
    """

    address: str
    state: str
    reason: str


class Backend(Protocol):
    """Runs the two models. Implementations are safe for any number of calls at once on one event loop."""

    @property
    def contract(self) -> Contract:
        """What the served models take and give.

        Raises:
            BackendUnavailable: they have not been read yet; `refresh` does.
        """

    @property
    def last_answer_at(self) -> float:
        """When a model last answered, on the monotonic clock; 0 if never."""

    @property
    def outage(self) -> str:
        """Why no call can be taken at the moment, in words for an operator; empty if calls can be."""

    @property
    def servers(self) -> int:
        """How many servers share the calls; 0 in an outage."""

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        """What each server is doing; empty where there are none."""

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:
        """Probability of text per pixel of `image`, whose shape is one that the contract allows.

        Raises:
            BackendError: with the cause chained; InferenceTimeout after `timeout_s`.
        """

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        """Read one chunk, whose bucket and very number of rows a model takes (`Batcher` pads both).

        With `alternatives`, the steps have those that the models can give; all else is the same.

        Raises:
            BackendError: with the cause chained; InferenceTimeout after `timeout_s`.
        """

    async def refresh(self) -> None:
        """Read the contract, again if need be: models may come late, and be exchanged.

        Raises:
            BackendError: the models can't be read now; what was read before stays.
            ContractError: they do not fit together or do not fit the gateway.
        """

    async def wait_for_return(self) -> None:
        """In an outage that may end at any moment, wait for its end: hardly, unless there are signs of it."""

    async def close(self) -> None:
        """Cancel what is in flight and release connections or sessions."""
