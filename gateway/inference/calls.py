"""One call to a model from pixels to answer, the same for every backend: place, pad, encode, run, decode, cut.

What differs, running a model on named tensors, is one method that `TritonBackend` and `EmbeddedBackend` fill in.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, InferenceTimeout
from gateway.inference.backend import EndpointStatus
from gateway.inference.codecs import Codec, Pixels, Tensors, detection_codec, recognition_codec
from gateway.inference.contract import Contract
from gateway.metrics import CALL_SECONDS, CALLS, CALLS_IN_FLIGHT, outcome_counted

Answer = TypeVar("Answer")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Run:
    """A model to run on tensors.

    Attributes:
        contract: what the tensors were made by.
        model: name in Triton.
        inputs: tensors by name.
        outputs: names of the tensors to answer.
        timeout_s: the longest that it may take.
    """

    contract: Contract
    model: str
    inputs: Tensors
    outputs: tuple[str, ...]
    timeout_s: float


class ModelBackend(ABC):
    """A `Backend` but for the running of models."""

    def __init__(self) -> None:
        self._contract: Contract | None = None
        self._last_answer_at = 0.0

    @property
    def contract(self) -> Contract:
        """What the served models take and give.

        Raises:
            BackendUnavailable: they have not been read yet; `refresh` does.
        """
        if self._contract is None:
            raise BackendUnavailable("the models have not been read yet")
        return self._contract

    @property
    def last_answer_at(self) -> float:
        """When a model last answered, on the monotonic clock; 0 if never."""
        return self._last_answer_at

    @property
    def outage(self) -> str:
        """Why no call can be taken; empty if calls can be."""
        return "" if self._contract else "the models have not been read yet"

    @property
    def servers(self) -> int:
        """How many servers share the calls."""
        return 1

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        """What each server is doing; without servers, nothing."""
        return ()

    @abstractmethod
    async def refresh(self) -> None:
        """Read the contract, again if need be.

        Raises:
            BackendError: the models can't be read now; what was read before stays.
            ContractError: they do not fit together or do not fit the gateway.
        """

    @abstractmethod
    async def wait_for_return(self) -> None:
        """As `Backend.wait_for_return`."""

    @abstractmethod
    async def close(self) -> None:
        """End what is in flight and release connections or sessions."""

    @abstractmethod
    async def run(self, run: Run) -> Tensors:
        """The output tensors.

        Raises:
            BackendError, Overloaded: no answer, and why.
        """

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:
        """As `Backend.detect`."""
        contract = self.contract
        height, width, _ = image.shape
        model = contract.detection.place(height, width)
        return await self._call(contract, model.name, detection_codec(contract.detection), image, timeout_s)

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        """As `Backend.recognize`."""
        contract = self.contract
        count, _, bucket_width, _ = rows.shape
        model = contract.recognition.place(bucket_width, count)
        codec = recognition_codec(contract.recognition, alternatives=alternatives)
        return await self._call(contract, model.name, codec, rows, timeout_s)

    async def _call(
        self, contract: Contract, model: str, codec: Codec[Answer], pixels: Pixels, timeout_s: float
    ) -> Answer:
        deadline = Deadline.after(timeout_s)
        with counted(model):
            inputs = await _apply(codec.heavy, codec.encode, pixels)
            if deadline.expired:
                raise InferenceTimeout(f"{model}: no time left to ask it")
            outputs = await self.run(Run(contract, model, inputs, codec.outputs, deadline.remaining()))
            answer = await _apply(codec.heavy, codec.decode, outputs, pixels.shape)
        self._last_answer_at = time.monotonic()
        return answer


@contextmanager
def counted(model: str) -> Iterator[None]:
    """Count a call to this model, its outcome and its time."""
    with (
        CALLS_IN_FLIGHT.labels(model).track_inprogress(),
        CALL_SECONDS.labels(model).time(),
        outcome_counted(lambda outcome: CALLS.labels(model, outcome).inc()),
    ):
        yield


async def _apply(
    heavy: bool, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Call the function here, or on a thread if it is heavy."""
    if heavy:
        return await asyncio.to_thread(function, *args, **kwargs)
    return function(*args, **kwargs)
