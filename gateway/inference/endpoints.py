"""One Triton: its connection, what its models are, the calls under way on it, and whether it may be called.

    connecting ──► serving ◄──► differing          healthy: the contract in use decides between the two
                     │ ▲
                     ▼ │
    silent | unreachable | not_ready | failing     with the reason; `gateway.inference.watching` leads back

What a failed call says of its server decides whether it stays. A full queue or memory says nothing against it.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum

import grpc
from tritonclient.grpc.service_pb2 import ModelInferResponse, ServerLiveRequest

from gateway.errors import BackendUnavailable, ContractError, InferenceFailed, OcrError, Overloaded
from gateway.inference.backend import EndpointStatus
from gateway.inference.channels import TritonConnection, TritonTls
from gateway.inference.configs import read_contract
from gateway.inference.contract import Contract, difference
from gateway.inference.failures import (
    DEAD,
    MISSING,
    NO_SIGN_OF_LIFE,
    NOT_LOADED,
    STOPPING,
    UNREACHABLE,
    Meaning,
    failure,
    foreign_text,
    meaning_behind,
    translated,
)
from gateway.inference.messages import InferRequest
from gateway.inference.served_models import ModelNames, ModelReader
from gateway.metrics import (
    ENDPOINT_CALLS,
    ENDPOINT_CALLS_IN_FLIGHT,
    ENDPOINT_HEARTBEAT_SECONDS,
    ENDPOINT_METRICS,
    ENDPOINT_MODEL,
    ENDPOINT_STATE,
    outcome_counted,
)
from gateway.tracing import outgoing

REFUSAL_S = 1.0
"""How long a server that was overloaded is called after others."""

logger = logging.getLogger(__name__)


class VersionGone(BackendUnavailable):
    """A version answered that is not served any more: nobody can tell what its answer means. The server is sound."""


class State(StrEnum):
    """What an endpoint is doing; it is called while it is serving."""

    CONNECTING = "connecting"
    SERVING = "serving"
    DIFFERING = "differing"
    SILENT = "silent"
    UNREACHABLE = "unreachable"
    NOT_READY = "not_ready"
    FAILING = "failing"


BLAMED: Mapping[Meaning | None, State] = {
    UNREACHABLE: State.UNREACHABLE,
    NO_SIGN_OF_LIFE: State.SILENT,
    STOPPING: State.NOT_READY,
    NOT_LOADED: State.NOT_READY,
    MISSING: State.NOT_READY,
    DEAD: State.FAILING,
}
"""Failures that leave no doubt: the next call would fail likewise."""


class Endpoint:
    """One Triton; all methods belong to one event loop.

    Attributes:
        address: host:port.
        name: the same, and what its models are if they are not those that serve; for metrics and logs.
        state, reason: what it is doing, and why it is not serving; empty when it is.
        error: what put it out of rotation last.
        healthy: whether it answers and its models work.
        contract: of its models; None until they have been read.
        quiet: whether it has given no sign of life for a moment, so that others are called first.
        signs_of_life: how many answers of any kind have come.
        doubted: models that have failed since they were last seen to work.
        known: set when anything has been found out.
        trouble: set when a model is doubted or the endpoint has left the rotation.
        picked: by model, number of the call that it took last; `Rotation` counts.
    """

    def __init__(
        self,
        address: str,
        names: ModelNames,
        *,
        timeout_s: float,
        changed: Callable[[], None],
        tls: TritonTls | None = None,
        label: str = "",
    ) -> None:
        """Prepare; it connects on the first call.

        Args:
            address: host:port of its gRPC API.
            names: of its models.
            timeout_s: deadline of each question about the models.
            changed: called when health or contract have changed.
            tls: how the connection is encrypted, if it is.
            label: what its models are, if they are not those that serve.
        """
        self.address = address
        self.name = f"{address} {label}".rstrip()
        self.state = State.CONNECTING
        self.reason = "no answer yet"
        self.error: OcrError | None = None
        self.healthy = False
        self.contract: Contract | None = None
        self.quiet = False
        self.signs_of_life = 0
        self.doubted: set[str] = set()
        self.known = asyncio.Event()
        self.trouble = asyncio.Event()
        self.picked: dict[str, int] = {}
        self._connection = TritonConnection(address, tls)
        self._names = names
        self._reader = ModelReader(self._connection.stub, timeout_s=timeout_s)
        self._changed = changed
        self._versions: set[tuple[str, str]] = set()
        self._reading = asyncio.Lock()
        self._calls: set[grpc.aio.Call] = set()
        self._answered_at: dict[str, float] = {}
        self._entered_at = 0.0
        self._losses = 0
        self._refused_at = -REFUSAL_S
        self._show_state()

    @property
    def status(self) -> EndpointStatus:
        """For operators."""
        return EndpointStatus(self.address, self.state, self.reason)

    @property
    def hesitant(self) -> bool:
        """Whether others are better called first: it is quiet, a model has just failed, or it has just refused a call.

        A server that refuses is quick, so it always has the fewest calls under way.
        """
        return self.quiet or bool(self.doubted) or time.monotonic() < self._refused_at + REFUSAL_S

    @property
    def flickers(self) -> bool:
        """Whether it was lost only once since a model last answered: a connection broke, the server may be there."""
        return self.state is State.UNREACHABLE and bool(self._answered_at) and self._losses <= 1

    @property
    def calls_in_flight(self) -> int:
        """Calls under way, probes included."""
        return len(self._calls)

    async def infer(self, request: InferRequest, *, timeout_s: float) -> ModelInferResponse:
        """One call on behalf of a request; its failure may put the endpoint out of rotation.

        Raises:
            BackendError, Overloaded: no answer, and why.
        """
        began_at = time.monotonic()
        with self._counted():
            try:
                return await self.call(request, timeout_s=timeout_s)
            except OcrError as error:
                if began_at > self._entered_at:
                    self._learn(request.model_name, error)
                raise

    async def call(self, request: InferRequest, *, timeout_s: float) -> ModelInferResponse:
        """One call; errors as of `infer`, but nothing is concluded from them."""
        try:
            with translated(request.model_name):
                call = self._connection.stub.ModelInfer(request.data, timeout=timeout_s, metadata=_metadata())
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
                response = await call
        except BackendUnavailable as error:
            if self.state is State.SILENT:
                raise failure(request.model_name, NO_SIGN_OF_LIFE) from error
            raise
        self._answered_at[request.model_name] = time.monotonic()
        self._losses = 0
        self.heard()
        return response

    async def live(self, *, timeout_s: float, patient: bool = False) -> None:
        """Ask for a sign of life, which takes no model: a busy server gives it, a stopped one does not.

        Args:
            timeout_s: the longest that it may take.
            patient: whether to wait for a connection where there is none; else that is a failure at once.

        Raises:
            BackendError: none came in time; or it exits, or can't be reached.
        """
        began_at = time.monotonic()
        with translated("heartbeat"):
            await self._connection.stub.ServerLive(ServerLiveRequest(), timeout=timeout_s, wait_for_ready=patient)
        ENDPOINT_HEARTBEAT_SECONDS.labels(self.name).observe(time.monotonic() - began_at)
        self.heard()

    async def read_contract(self) -> Contract:
        """What the models are, read again.

        Raises:
            BackendError: they can't be read now; what was read before stays.
            ContractError: they do not fit together or do not fit the gateway.
        """
        async with self._reading:
            return await self._read()

    async def share_of(self, model: str) -> float | None:
        """As `ModelReader.share_of`."""
        return await self._reader.share_of(model)

    async def meet(self, model: str, version: str) -> None:
        """Know the version of a model that has answered; read the contract if it is new.

        Raises:
            VersionGone: it was unloaded before it could be read.
            BackendError: it could not be read, or does not fit.
        """
        if (model, version) in self._versions:
            return
        async with self._reading:
            if (model, version) not in self._versions:
                await self._read_replaced(model)
        if (model, version) not in self._versions:
            raise VersionGone(f"{model}: version {version} answered, which is not served any more")

    def answered_since(self, model: str, moment: float) -> bool:
        """Whether the model has answered any call after that moment on the monotonic clock."""
        return self._answered_at.get(model, 0.0) > moment

    def heard(self) -> None:
        """Note a sign of life."""
        self.signs_of_life += 1
        self.quiet = False

    def enter(self) -> None:
        """Be healthy, and in rotation if the contract is the one in use."""
        if not self.healthy:
            self._entered_at = time.monotonic()
        self.healthy = True
        self.error = None
        self._changed()

    def leave(self, state: State, error: OcrError) -> None:
        """Be out of rotation. Calls under way end by themselves, except at a server that is silent."""
        was_healthy, self.healthy = self.healthy, False
        self._losses += 1
        self.error = error
        self.trouble.set()
        self._move(state, " ".join(filter(None, (error.detail, foreign_text(error)))))
        if state is State.SILENT:
            for call in tuple(self._calls):
                call.cancel()
        if was_healthy:
            self._changed()

    def compare(self, contract: Contract) -> None:
        """Serve if the models are those of the contract in use; for a healthy endpoint."""
        assert self.contract is not None
        reason = difference(contract, self.contract)
        self._move(State.DIFFERING if reason else State.SERVING, reason)

    async def close(self, *, grace_s: float | None = None) -> None:
        """Disconnect, after calls under way have ended or `grace_s` have passed; None cancels them."""
        await self._connection.close(grace_s)
        for metric in ENDPOINT_METRICS:
            metric.remove_by_labels({"endpoint": self.name})

    def _learn(self, model: str, error: OcrError) -> None:
        state = BLAMED.get(meaning_behind(error))
        if state is not None:
            self.leave(state, error)
        elif isinstance(error, InferenceFailed):
            self.doubted.add(model)
            self.trouble.set()
        elif isinstance(error, Overloaded):
            self._refused_at = time.monotonic()

    async def _read_replaced(self, model: str) -> None:
        try:
            await self._read()
        except ContractError as error:
            self.leave(State.FAILING, error)
            raise BackendUnavailable(f"{model}: was replaced by a model that does not fit") from error

    async def _read(self) -> Contract:
        detection = await self._reader.read(self._names.detection)
        recognition = await self._reader.read(self._names.recognition)
        contract = read_contract(detection=detection, recognition=recognition)
        versions = {(one.config.name, one.version) for one in (*detection, *recognition)}
        self._show_models(versions)
        if contract != self.contract:
            self._versions.clear()
        if not versions <= self._versions:
            self._versions |= versions
            self.contract = contract
            self._changed()
        return contract

    def _move(self, state: State, reason: str) -> None:
        self.reason = reason
        if state is self.state:
            return
        self.state = state
        self.known.set()
        self._show_state()
        if state is State.SERVING:
            logger.info("endpoint %s is in rotation", self.name)
        else:
            logger.warning("endpoint %s is out of rotation, %s: %s", self.name, state, reason)

    def _show_models(self, versions: Collection[tuple[str, str]]) -> None:
        ENDPOINT_MODEL.remove_by_labels({"endpoint": self.name})
        for model, version in versions:
            ENDPOINT_MODEL.labels(self.name, model, version).set(1)

    def _show_state(self) -> None:
        for state in State:
            ENDPOINT_STATE.labels(self.name, state).set(state is self.state)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with (
            ENDPOINT_CALLS_IN_FLIGHT.labels(self.name).track_inprogress(),
            outcome_counted(lambda outcome: ENDPOINT_CALLS.labels(self.name, outcome).inc()),
        ):
            yield


def _metadata() -> tuple[tuple[str, str], ...] | None:
    """What a call carries besides its tensors: the trace that it belongs to, if it is sampled."""
    traceparent = outgoing.get()
    return (("traceparent", traceparent),) if traceparent else None
