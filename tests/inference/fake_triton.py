"""A Triton of a few dozen lines behind real gRPC. Its models are functions, so that a test decides what they answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import numpy as np
from tritonclient.grpc.model_config_pb2 import ModelConfig
from tritonclient.grpc.service_pb2 import (
    ModelConfigResponse,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataResponse,
    RepositoryIndexResponse,
)
from tritonclient.grpc.service_pb2_grpc import (
    GRPCInferenceServiceServicer,
    add_GRPCInferenceServiceServicer_to_server,
)

NAMES = {np.dtype(np.uint8): "UINT8", np.dtype(np.int32): "INT32", np.dtype(np.float32): "FP32"}
DTYPES = {name: dtype for dtype, name in NAMES.items()}

Tensors = Mapping[str, np.ndarray]
Model = Callable[[ModelInferRequest], Awaitable[ModelInferResponse | Tensors]]


class ModelFailure(Exception):
    """What a model raises to be answered with this code and text."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code, self.text = code, text


@dataclass
class FakeTriton(GRPCInferenceServiceServicer):
    """Serves `configs` by running `models`, both by name; a test may change either at any time."""

    configs: dict[str, ModelConfig]
    models: dict[str, Model]
    version: str = "1"
    answering_version: str | None = None
    restricted: bool = False
    requests: list[ModelInferRequest] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    time_left_s: float | None = None

    async def ModelMetadata(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append(f"metadata {request.name}")
        await self._require(request.name, context)
        return ModelMetadataResponse(name=request.name, versions=["0", self.version])

    async def ModelConfig(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append(f"config {request.name}")
        await self._require(request.name, context)
        return ModelConfigResponse(config=self.configs[request.name])

    async def RepositoryIndex(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append("index")
        if self.restricted:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "This protocol is restricted, expecting header 'key'")
        index = RepositoryIndexResponse()
        for name in self.configs:
            index.models.add(name=name, version=self.version, state="READY")
        return index

    async def ModelInfer(self, request, context):  # noqa: N802 - a name of the protocol
        self.requests.append(request)
        self.time_left_s = context.time_remaining()
        await self._require(request.model_name, context)
        try:
            answer = await self.models[request.model_name](request)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        except ModelFailure as failure:
            await context.abort(failure.code, failure.text)
        if not isinstance(answer, ModelInferResponse):
            answer = answer_of(answer)
        answer.model_name, answer.model_version, answer.id = (
            request.model_name,
            self.answering_version or self.version,
            request.id,
        )
        return answer

    async def hang(self, request):
        """A model that never answers."""
        self.busy.set()
        await asyncio.sleep(60)

    async def _require(self, name, context):
        if name not in self.configs:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Request for unknown model: '{name}' is not found")


def answer_of(tensors: Tensors) -> ModelInferResponse:
    answer = ModelInferResponse()
    for name, tensor in tensors.items():
        answer.outputs.add(name=name, datatype=NAMES[tensor.dtype], shape=tensor.shape)
        answer.raw_output_contents.append(tensor.tobytes())
    return answer


def input_of(request: ModelInferRequest) -> np.ndarray:
    (described,), (content,) = request.inputs, request.raw_input_contents
    return np.frombuffer(content, DTYPES[described.datatype]).reshape(list(described.shape))


@asynccontextmanager
async def listening(triton: FakeTriton, port: int = 0):
    """Serve it on loopback while the context lasts; gives the address."""
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0)])
    add_GRPCInferenceServiceServicer_to_server(triton, server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
