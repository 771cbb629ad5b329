"""No call to Triton without a deadline, and none with more time than its request has left."""

import ast
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from fake_triton import FakeTriton, ModelFailure, input_of, listening
from grpc import StatusCode
from made_configs import detection_config, recognition_config
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceServicer

from gateway.deadline import Deadline
from gateway.errors import InferenceTimeout
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.detector import Detector
from gateway.inference.probes import REQUEST_ID
from gateway.inference.triton import TritonBackend

ROUNDING_S = 0.2
"""gRPC sends times in few digits, rounded up."""

GATEWAY = Path(__file__).parents[2] / "gateway"
RPCS = {name for name in vars(GRPCInferenceServiceServicer) if not name.startswith("_")}


def uses_of_rpcs():
    """Place of every mention of one of the stub's methods, and whether it is a call with a timeout."""
    for path in sorted(GATEWAY.rglob("*.py")):
        tree = ast.parse(path.read_text())
        timed = {
            id(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and "timeout" in {keyword.arg for keyword in node.keywords}
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in RPCS:
                yield f"{path.relative_to(GATEWAY)}:{node.lineno} {node.attr}", id(node) in timed


def test_no_remote_procedure_is_called_without_a_timeout():
    uses = dict(uses_of_rpcs())
    assert {use.split()[1] for use in uses} >= {"ModelInfer", "ModelMetadata", "ModelConfig", "ModelStatistics"}
    assert [use for use, timed in uses.items() if not timed] == []


class Watching(FakeTriton):
    """Notes how much time every call but probes has; more rows than `memory` are too many."""

    memory = 64

    def __init__(self):
        models = {"text_detection": self.detect, "text_recognition": self.recognize}
        super().__init__({one.name: one for one in (detection_config(), recognition_config())}, models)
        self.times_left = []

    async def ModelMetadata(self, request, context):  # noqa: N802 - a name of the protocol
        self.times_left.append(context.time_remaining())
        return await super().ModelMetadata(request, context)

    async def ModelConfig(self, request, context):  # noqa: N802 - a name of the protocol
        self.times_left.append(context.time_remaining())
        return await super().ModelConfig(request, context)

    async def ModelInfer(self, request, context):  # noqa: N802 - a name of the protocol
        if request.id != REQUEST_ID:
            self.times_left.append(context.time_remaining())
        return await super().ModelInfer(request, context)

    async def detect(self, request):
        return {"probability_map": input_of(request)[..., 0]}

    async def recognize(self, request):
        rows = input_of(request)
        if len(rows) > self.memory:
            raise ModelFailure(StatusCode.INTERNAL, "Available memory of 8 is smaller than requested bytes of 9")
        floats = np.ones((len(rows), 4), np.float32)
        return {"class_index": floats.astype(np.int32), "probability": floats, "space_probability": floats}


@asynccontextmanager
async def connected(triton):
    async with listening(triton) as address:
        backend = await TritonBackend.connect(address, timeout_s=7)
        try:
            yield backend
        finally:
            await backend.close()


def crops(count):
    return [np.zeros((48, 30, 3), np.uint8)] * count


async def test_questions_about_the_models_have_a_time_of_their_own():
    triton = Watching()
    async with connected(triton):
        pass
    assert len(triton.times_left) == 4
    assert all(0 < left <= 7 + ROUNDING_S for left in triton.times_left)


async def test_every_call_of_a_request_gets_what_is_left_those_after_want_of_memory_too():
    triton = Watching()
    triton.memory = 1
    async with connected(triton) as backend:
        triton.times_left.clear()
        deadline = Deadline.after(30)
        await Detector(backend, calls_in_flight=1).detect(np.zeros((32, 64, 3), np.uint8), deadline=deadline)
        batcher = Batcher(backend, BatchLimits(calls_in_flight=1))
        await batcher.read(crops(4), deadline=deadline)
    assert [len(input_of(request)) for request in triton.requests] == [1, 4, 2, 1, 1, 1, 1]
    assert all(20 < left <= 30 + ROUNDING_S for left in triton.times_left)


async def test_nothing_is_sent_when_no_time_is_left():
    triton = Watching()
    image, over = np.zeros((32, 64, 3), np.uint8), Deadline.after(0)
    async with connected(triton) as backend:
        for work in (
            Detector(backend, calls_in_flight=1).detect(image, deadline=over),
            Batcher(backend, BatchLimits()).read(crops(4), deadline=over),
            backend.detect(image, timeout_s=0),
            backend.recognize(np.zeros((1, 48, 32, 3), np.uint8), timeout_s=0),
        ):
            with pytest.raises(InferenceTimeout):
                await work
    assert triton.requests == []
