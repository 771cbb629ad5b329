"""A Triton of a few dozen lines behind real gRPC. Its models are functions, so that a test decides what they answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import grpc
import numpy as np
from tritonclient.grpc.model_config_pb2 import ModelConfig
from tritonclient.grpc.service_pb2 import (
    ModelConfigResponse,
    ModelInferRequest,
    ModelInferResponse,
    ModelMetadataResponse,
    ModelStatisticsResponse,
    ServerLiveResponse,
)
from tritonclient.grpc.service_pb2_grpc import (
    GRPCInferenceServiceServicer,
    add_GRPCInferenceServiceServicer_to_server,
)

from gateway.inference.probes import REQUEST_ID

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
    """Serves `configs` by running `models`, both by name; a test may change either at any time.

    Probes are answered by what `models` was at first, unless `models_probed` is True; they are no `requests`.
    """

    configs: dict[str, ModelConfig]
    models: dict[str, Model]
    version: str = "1"
    answering_version: str | None = None
    restricted: bool = False
    requests: list[ModelInferRequest] = field(default_factory=list)
    probes: list[ModelInferRequest] = field(default_factory=list)
    models_probed: bool = False
    beats: int = 0
    alive: Callable[[], Awaitable[bool]] | None = None
    calls: list[str] = field(default_factory=list)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    time_left_s: float | None = None
    carried: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self):
        self.sound_models = dict(self.models)

    async def ServerLive(self, request, context):  # noqa: N802 - a name of the protocol
        self.beats += 1
        if self.alive is not None:
            await self._answer(self.alive, context)
        return ServerLiveResponse(live=True)

    async def ModelMetadata(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append(f"metadata {request.name}")
        await self._require(request.name, context)
        return ModelMetadataResponse(name=request.name, versions=["0", self.version])

    async def ModelConfig(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append(f"config {request.name}")
        await self._require(request.name, context)
        return ModelConfigResponse(config=self.configs[request.name])

    async def ModelStatistics(self, request, context):  # noqa: N802 - a name of the protocol
        self.calls.append("statistics")
        if self.restricted:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "This protocol is restricted, expecting header 'key'")
        answer = ModelStatisticsResponse()
        for name in self.configs:
            answer.model_stats.add(name=name, version=self.version)
        return answer

    async def ModelInfer(self, request, context):  # noqa: N802 - a name of the protocol
        is_probe = request.id == REQUEST_ID
        (self.probes if is_probe else self.requests).append(request)
        if not is_probe:
            self.time_left_s = context.time_remaining()
            self.carried.append(dict(context.invocation_metadata() or ()))
        await self._require(request.model_name, context)
        models = self.sound_models if is_probe and not self.models_probed else self.models
        answer = await self._answer(partial(models[request.model_name], request), context)
        if not isinstance(answer, ModelInferResponse):
            answer = answer_of(answer)
        answer.model_name, answer.model_version, answer.id = (
            request.model_name,
            self.answering_version or self.version,
            request.id,
        )
        return answer

    async def _answer(self, ask, context):
        try:
            return await ask()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        except ModelFailure as failure:
            await context.abort(failure.code, failure.text)

    async def hang(self, request=None):
        """A model that never answers."""
        self.busy.set()
        await asyncio.sleep(60)

    async def _require(self, name, context):
        if name not in self.configs:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"Request for unknown model: '{name}' is not found")


async def blanks(request: ModelInferRequest) -> Tensors:
    """A recogniser that sees nothing."""
    steps = np.zeros((len(input_of(request)), 4), np.float32)
    return {"class_index": steps.astype(np.int32), "probability": steps, "space_probability": steps}


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
