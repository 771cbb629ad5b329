"""The backend that calls Triton over gRPC."""

import asyncio
from typing import Self

import grpc
from asgi_correlation_id import correlation_id
from tritonclient.grpc.service_pb2 import (
    ModelConfigRequest,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataRequest,
    RepositoryIndexRequest,
)

from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable
from gateway.inference.calls import ModelBackend, Run
from gateway.inference.channels import TritonConnection
from gateway.inference.codecs import Tensors
from gateway.inference.configs import ServedModel, names_per_shape, read_contract
from gateway.inference.failures import translated, was_not_sent
from gateway.inference.messages import answered_tensors, infer_request
from gateway.metrics import WIRE_BYTES

RECONNECT_PATIENCE_S = 0.5
"""How long a call waits for a connection to a server that was stopped: about one pause between two tries to connect."""


class TritonBackend(ModelBackend):
    """Models on a Triton server. It may be made while Triton is down: `refresh` tells when it is there."""

    def __init__(
        self,
        address: str,
        *,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
        timeout_s: float = 5.0,
    ) -> None:
        """Prepare a connection; to be called on a running event loop.

        Args:
            address: host:port of Triton's gRPC endpoint.
            detection_model: the model's name; that of one model per shape goes on with the shape, `_h736_w736`.
            recognition_model: as detection_model, `_w320_r8`.
            timeout_s: deadline of each question about the models; inference has its own.
        """
        super().__init__()
        self._connection = TritonConnection(address)
        self._detection_model = detection_model
        self._recognition_model = recognition_model
        self._timeout_s = timeout_s
        self._refreshing = asyncio.Lock()
        self._known_versions: set[tuple[str, str]] = set()

    @classmethod
    async def connect(
        cls,
        address: str,
        *,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
        timeout_s: float = 5.0,
    ) -> Self:
        """A backend whose contract has been read; arguments and errors as of `__init__` and `refresh`."""
        backend = cls(
            address, detection_model=detection_model, recognition_model=recognition_model, timeout_s=timeout_s
        )
        try:
            await backend.refresh()
        except BaseException:
            await backend.close()
            raise
        return backend

    async def refresh(self) -> None:
        """Read the models' configurations, and with them the contract."""
        async with self._refreshing:
            await self._read_contract()

    async def run(self, run: Run) -> Tensors:
        """One ModelInfer call; cancelling it cancels it in Triton."""
        request = infer_request(run.model, run.inputs, run.outputs, correlation_id.get() or "")
        WIRE_BYTES.labels(run.model, "request").inc(request.ByteSize())
        with translated(run.model):
            response = await self._infer(request, Deadline.after(run.timeout_s))
        WIRE_BYTES.labels(run.model, "response").inc(response.ByteSize())
        await self._require_fit(run, response.model_version)
        return answered_tensors(response)

    async def close(self) -> None:
        """Cancel the calls in flight and disconnect."""
        await self._connection.close()

    async def _infer(self, request: ModelInferRequest, deadline: Deadline) -> ModelInferResponse:
        """The call, and once again if only the connection was missing: a server that goes on is back at any moment."""
        try:
            return await self._connection.stub.ModelInfer(request, timeout=deadline.remaining())
        except grpc.aio.AioRpcError as error:
            patience_s = min(RECONNECT_PATIENCE_S, deadline.remaining())
            if not was_not_sent(error) or not await self._connection.is_ready_within(patience_s):
                raise
        return await self._connection.stub.ModelInfer(request, timeout=deadline.remaining())

    async def _require_fit(self, run: Run, version: str) -> None:
        """Believe a version that was loaded in the meantime only if it means the same; its charset may be another."""
        if (run.model, version) not in self._known_versions:
            await self._meet(run.model, version)
        if self._contract is not run.contract and self._contract != run.contract:
            raise BackendUnavailable(f"{run.model}: was replaced by a model that reads otherwise")

    async def _meet(self, model: str, version: str) -> None:
        async with self._refreshing:
            if (model, version) not in self._known_versions:
                await self._read_contract()
        if (model, version) not in self._known_versions:
            raise BackendUnavailable(f"{model}: version {version} answered, which is not served any more")

    async def _read_contract(self) -> None:
        detection = await self._read_models(self._detection_model)
        recognition = await self._read_models(self._recognition_model)
        contract = read_contract(detection=detection, recognition=recognition)
        if contract != self._contract:
            self._known_versions.clear()
        self._known_versions.update((one.config.name, one.version) for one in (*detection, *recognition))
        self._contract = contract

    async def _read_models(self, name: str) -> list[ServedModel]:
        """The model of this name, or those of one shape each. The index comes second, for it may be restricted."""
        with translated(name):
            try:
                return [await self._read_model(name)]
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise
            return [await self._read_model(one) for one in await self._names(name)]

    async def _names(self, name: str) -> list[str]:
        index = await self._connection.stub.RepositoryIndex(RepositoryIndexRequest(ready=True), timeout=self._timeout_s)
        ready = sorted({model.name for model in index.models})
        names = names_per_shape(name, ready)
        if not names:
            raise BackendUnavailable(f"no model {name} nor one per shape is ready; ready: {', '.join(ready) or 'none'}")
        return names

    async def _read_model(self, name: str) -> ServedModel:
        """The version that Triton prefers, the highest, and its configuration."""
        metadata = await self._connection.stub.ModelMetadata(ModelMetadataRequest(name=name), timeout=self._timeout_s)
        version = max(metadata.versions, key=int, default="")
        answer = await self._connection.stub.ModelConfig(
            ModelConfigRequest(name=name, version=version), timeout=self._timeout_s
        )
        return ServedModel(answer.config, version)
