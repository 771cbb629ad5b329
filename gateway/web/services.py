"""What the routes need from the rest of the service; the composition root fills it in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from gateway.concurrency import CpuPool
from gateway.documents import PageReader
from gateway.inference.backend import EndpointStatus
from gateway.inference.contract import Contract


class Readiness(Protocol):
    """Knows whether the models answer rightly; the canary does."""

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here."""

    @property
    def reason(self) -> str:
        """Why not, in words for an operator."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model as the inference server names it.

    Attributes:
        name, version: in the inference server.
        kind: what it does.
    """

    name: str
    version: str
    kind: Literal["detection", "recognition"]


@dataclass(frozen=True, slots=True)
class ServedModels:
    """What answers requests at the moment.

    Attributes:
        model_set: name of the set in the catalog.
        models: detection first.
        charset: text of each class of the recogniser.
        alternatives: how many it can give for each character; 0 for none.
    """

    model_set: str
    models: tuple[ServedModel, ...]
    charset: tuple[str, ...] = field(default=(), compare=False, repr=False)
    alternatives: int = 0

    @classmethod
    def of(cls, contract: Contract) -> "ServedModels":
        """The models of a contract."""
        detection = (ServedModel(model.name, model.version, "detection") for model in contract.detection.models)
        recognition = (ServedModel(model.name, model.version, "recognition") for model in contract.recognition.models)
        read = contract.recognition
        return cls(contract.model_set, (*detection, *recognition), read.charset, read.alternatives)


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate that requests can be read by.

    Attributes:
        share: how many per cent of the requests it is to read.
        pipeline: reads by it.
        falling_back: the same, and by the models that serve should it fail.
        models: describes it.
    """

    share: float
    pipeline: PageReader
    falling_back: PageReader
    models: Callable[[], ServedModels]


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What one request may cost; the defaults are the settings'.

    Attributes:
        max_body_bytes: largest body, as it is sent.
        timeout_s: the deadline of a request that does not ask for one.
        max_timeout_s: the longest deadline that a request may ask for.
        body_timeout_s: the longest that its body may take to come, unless it comes fast.
        max_files: in one body.
        max_pages: read of all its files together.
        max_stream_s: the longest that an answer of lines may take, whose pages have a deadline each.
    """

    max_body_bytes: int
    timeout_s: float
    max_timeout_s: float
    body_timeout_s: float = 30.0
    max_files: int = 16
    max_pages: int = 500
    max_stream_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Services:
    """Everything the routes call.

    Attributes:
        pipeline: reads images.
        canary: knows whether the service is ready.
        models: describes what is served; called for every answer, because models may be exchanged.
        limits: of one request.
        draining: whether the service is about to stop.
        pool: threads that write answers.
        endpoints: what each inference server is doing.
        candidate: the one that there is at the moment, if there is one.
    """

    pipeline: PageReader
    canary: Readiness
    models: Callable[[], ServedModels]
    limits: RequestLimits
    draining: Callable[[], bool]
    pool: CpuPool
    endpoints: Callable[[], Sequence[EndpointStatus]] = tuple
    candidate: Callable[[], Offer | None] = lambda: None
