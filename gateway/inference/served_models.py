"""Asking one Triton for the configurations of its models, the contract's source."""

from dataclasses import dataclass

import grpc
from tritonclient.grpc.service_pb2 import ModelConfigRequest, ModelMetadataRequest, ModelStatisticsRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from gateway.errors import BackendUnavailable
from gateway.inference.configs import ServedModel, names_per_shape, read_share
from gateway.inference.failures import MISSING, NOT_LOADED, meaning_of, translated

CANDIDATE = "candidate_"
"""What the names of models begin with that are tried beside those that serve (`triton_models.releases`)."""


@dataclass(frozen=True, slots=True)
class ModelNames:
    """What the models are called.

    Attributes:
        detection: the model's name; that of one model per shape goes on with the shape, `_h736_w736`.
        recognition: as detection, `_w320_r8`.
    """

    detection: str = "text_detection"
    recognition: str = "text_recognition"


class ModelReader:
    """Reads models through a stub."""

    def __init__(self, stub: GRPCInferenceServiceStub, *, timeout_s: float) -> None:
        self._stub = stub
        self._timeout_s = timeout_s

    async def read(self, name: str) -> list[ServedModel]:
        """The model of this name, or those of one shape each.

        Raises:
            BackendError: it can't be read, or is not loaded.
        """
        with translated(name):
            try:
                return [await self._read_one(name)]
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise
                not_found = error
            ready = await self._ready_names()
            names = names_per_shape(name, ready)
            if not names:
                words = f"no model {name} nor one per shape is ready; ready: {', '.join(ready) or 'none'}"
                raise BackendUnavailable(words) from not_found
            return [await self._read_one(one) for one in names]

    async def share_of(self, name: str) -> float | None:
        """How many per cent of the requests a candidate of this name reads; None: there is none to be told of.

        Raises:
            BackendError, ContractError: the server can't be asked, or it is no number.
        """
        request = ModelConfigRequest(name=name)
        with translated(name):
            try:
                answer = await self._stub.ModelConfig(request, timeout=self._timeout_s)
            except grpc.aio.AioRpcError as error:
                if meaning_of(error.code(), error.details() or "") in (MISSING, NOT_LOADED):
                    return None
                raise
        return read_share([ServedModel(answer.config, "")])

    async def _ready_names(self) -> list[str]:
        # Not from the index of the repository, which belongs to the protocol that loads models: that wants a key.
        answer = await self._stub.ModelStatistics(ModelStatisticsRequest(), timeout=self._timeout_s)
        return sorted({model.name for model in answer.model_stats})

    async def _read_one(self, name: str) -> ServedModel:
        """The version that Triton prefers, the highest, and its configuration."""
        metadata = await self._stub.ModelMetadata(ModelMetadataRequest(name=name), timeout=self._timeout_s)
        version = max(metadata.versions, key=int, default="")
        answer = await self._stub.ModelConfig(ModelConfigRequest(name=name, version=version), timeout=self._timeout_s)
        return ServedModel(answer.config, version)
