"""The backend that calls Triton over gRPC: one server or several."""

from collections.abc import Sequence
from typing import Self

from asgi_correlation_id import correlation_id

from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout, Overloaded
from gateway.inference.addresses import parse_addresses
from gateway.inference.backend import EndpointStatus
from gateway.inference.calls import ModelBackend, Run
from gateway.inference.channels import TritonTls
from gateway.inference.codecs import Tensors
from gateway.inference.contract import Contract
from gateway.inference.endpoints import Endpoint, VersionGone
from gateway.inference.failures import CLOSED, failure
from gateway.inference.fleet import Fleet
from gateway.inference.messages import InferRequest, answered_tensors, infer_request
from gateway.inference.retries import RetryBudget, RetryOptions
from gateway.inference.served_models import CANDIDATE, ModelNames
from gateway.inference.watching import WatchOptions
from gateway.metrics import RETRIES, WIRE_BYTES

MAY_FARE_BETTER = (BackendUnavailable, InferenceFailed, InferenceTimeout, Overloaded)
"""Failures that another server may not have. Too little memory is answered with a smaller call (`Batcher`)."""


class TritonBackend(ModelBackend):
    """Models on Triton servers. It may be made while they are down: `refresh` tells when one is there.

    A call goes to the server with the fewest under way. One that fails through the fault of its server is tried again
    on another, as far as deadline and budget allow; inference changes nothing, so that does no harm.
    """

    def __init__(
        self,
        addresses: str,
        *,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
        timeout_s: float = 5.0,
        watch: WatchOptions | None = None,
        retries: RetryOptions | None = None,
        tls: TritonTls | None = None,
        label: str = "",
    ) -> None:
        """Prepare; to be used on a running event loop.

        Args:
            addresses: of Triton's gRPC API: `host:port,host:port`, or `dns:///name:port` for all that DNS knows.
            detection_model: the model's name; that of one model per shape goes on with the shape, `_h736_w736`.
            recognition_model: as detection_model, `_w320_r8`.
            timeout_s: deadline of each question about the models; inference has its own.
            watch: how closely the servers are watched.
            retries: how often calls are tried again.
            tls: how connections are encrypted, if they are.
            label: what the models are, for metrics and logs, if they are not those that serve.

        Raises:
            ValueError: an address is none.
        """
        super().__init__()
        names = ModelNames(detection_model, recognition_model)
        watch = watch or WatchOptions()
        self._fleet = Fleet(parse_addresses(addresses), names, watch, timeout_s=timeout_s, tls=tls, label=label)
        self._rotation = self._fleet.rotation
        self._retries = retries or RetryOptions()
        self._budget = RetryBudget(self._retries)
        self._closed = False

    @classmethod
    async def connect(
        cls,
        addresses: str,
        *,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
        timeout_s: float = 5.0,
        watch: WatchOptions | None = None,
        retries: RetryOptions | None = None,
        tls: TritonTls | None = None,
        label: str = "",
    ) -> Self:
        """A backend whose contract has been read; arguments and errors as of `__init__` and `refresh`."""
        backend = cls(
            addresses,
            detection_model=detection_model,
            recognition_model=recognition_model,
            timeout_s=timeout_s,
            watch=watch,
            retries=retries,
            tls=tls,
            label=label,
        )
        try:
            await backend.refresh()
        except BaseException:
            await backend.close()
            raise
        return backend

    @property
    def contract(self) -> Contract:
        """What the served models take and give; that of the last ones, while none is served.

        Raises:
            BackendUnavailable: no server has been there yet.
        """
        if self._rotation.contract is None:
            raise BackendUnavailable("the models have not been read yet")
        return self._rotation.contract

    @property
    def outage(self) -> str:
        """Why no call can be taken, server by server; empty if one serves."""
        return self._rotation.outage

    @property
    def servers(self) -> int:
        """How many servers share the calls."""
        return len(self._rotation.serving)

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        """What each server is doing."""
        return [endpoint.status for endpoint in self._rotation.endpoints]

    async def refresh(self) -> None:
        """Read the contract of each server again."""
        await self._fleet.refresh()

    async def candidate_share(self) -> float | None:
        """How many per cent of the requests a candidate beside these models reads; None if there is none.

        Raises:
            BackendError: a server can't be asked.
        """
        candidate = f"{CANDIDATE}{self.contract.recognition.models[0].name}"
        for endpoint in self._rotation.serving:
            share = await endpoint.share_of(candidate)
            if share is not None:
                return share
        return None

    async def wait_for_return(self) -> None:
        """In an outage, wait for servers that were silent and may go on."""
        if self.outage:
            await self._fleet.wait_for_return()

    async def run(self, run: Run) -> Tensors:
        """One ModelInfer call, and others in its place if it fails; cancelling it cancels it in Triton."""
        if self._closed:
            raise failure(run.model, CLOSED)
        deadline = Deadline.after(run.timeout_s)
        request = infer_request(run.model, run.inputs, run.outputs, correlation_id.get() or "")
        self._budget.deposit()
        endpoint = self._rotation.pick(run.contract, run.model)
        if endpoint is None:
            raise BackendUnavailable(f"{run.model}: no inference server is there for it")
        at_fault: set[Endpoint] = set()
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._attempt(endpoint, request, run, deadline)
            except MAY_FARE_BETTER as error:
                if not isinstance(error, VersionGone):
                    at_fault.add(endpoint)
                another = self._another(run, attempts, at_fault, deadline)
                if another is None:
                    raise
                RETRIES.labels(error.code).inc()
            endpoint = another

    async def close(self) -> None:
        """Cancel the calls in flight and disconnect."""
        self._closed = True
        await self._fleet.close()

    async def _attempt(self, endpoint: Endpoint, request: InferRequest, run: Run, deadline: Deadline) -> Tensors:
        WIRE_BYTES.labels(run.model, "request").inc(len(request.data))
        response = await endpoint.infer(request, timeout_s=deadline.remaining())
        await self._require_fit(endpoint, run, response.model_version)
        tensors = answered_tensors(response)
        # Of its tensors: the message's own size can be had only by encoding it, which takes as long as all else here.
        WIRE_BYTES.labels(run.model, "response").inc(sum(tensor.nbytes for tensor in tensors.values()))
        return tensors

    async def _require_fit(self, endpoint: Endpoint, run: Run, version: str) -> None:
        """Believe a version that was loaded in the meantime only if it means the same; its charset may be another."""
        await endpoint.meet(run.model, version)
        if endpoint.contract is not run.contract and endpoint.contract != run.contract:
            raise BackendUnavailable(f"{run.model}: was replaced by a model that reads otherwise")

    def _another(self, run: Run, attempts: int, at_fault: set[Endpoint], deadline: Deadline) -> Endpoint | None:
        """The endpoint to try next, if there is one and it may be tried."""
        if self._closed or deadline.expired or attempts >= self._retries.max_attempts:
            return None
        another = self._rotation.pick(run.contract, run.model, tried=at_fault)
        return another if another is not None and self._budget.withdraw() else None
