"""Every failure of a real tritonserver that the gateway tells apart, provoked, and what it is taken for.

The codes alone don't tell, so texts count. When a new version of Triton, gRPC or ONNX Runtime puts a failure in other
words, the test named after the case fails, and `gateway.inference.failures` needs those words.

Not provoked, for want of a way: a full /dev/shm, and a reset stream. Texts of GPUs are said by a model that knows them.
"""

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc import StatusCode
from scripted_models import BREAK, SAY, SLEEP, add_ensemble, add_hungry_model, add_scripted_model, asking
from stopping import stopped
from tritonclient.grpc.service_pb2 import (
    ModelMetadataRequest,
    ModelReadyRequest,
    RepositoryModelLoadRequest,
    RepositoryModelUnloadRequest,
    ServerLiveRequest,
    ServerReadyRequest,
)
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from gateway.errors import BackendUnavailable
from gateway.inference.channels import ChannelOptions
from gateway.inference.failures import (
    CLOSED,
    DEAD,
    FAILED,
    MISFIT,
    MISSING,
    NO_ANSWER,
    NO_MEMORY,
    NO_SIGN_OF_LIFE,
    NOT_LOADED,
    QUEUE_FULL,
    QUEUED_TOO_LONG,
    REFUSED,
    STOPPING,
    TOO_LARGE,
    UNREACHABLE,
    meaning_of,
    translated,
)
from triton_models.processes import group_members
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ARENA = "onnxruntime/core/framework/bfc_arena.cc:360 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, "
ON_A_GPU = {
    "the arena is at its limit, in a run": "onnx runtime error 1: Non-zero status code returned while running Conv "
    f"node. Name:'Conv.2' Status Message: /onnxruntime_src/{ARENA}onnxruntime::Stream*) "
    "Available memory of 1048576 is smaller than requested bytes of 70797568",
    "the card is full, in a run": "onnx runtime error 1: Non-zero status code returned while running Conv node. "
    f"Name:'Conv.2' Status Message: /onnxruntime_src/{ARENA}onnxruntime::Stream*) "
    "Failed to allocate memory for requested buffer of size 47185920",
    "the same in older versions": "onnx runtime error 6: Exception during initialization: /onnxruntime_src/"
    "onnxruntime/core/framework/bfc_arena.cc:368 Failed to allocate memory for requested buffer of size 47185920",
    "no room for cuBLAS": "onnx runtime error 1: CUBLAS failure 3: the resource allocation failed ; GPU=0 ; "
    "hostname=h ; file=cuda_execution_provider.cc ; expr=cublasCreate(&cublas_handle_);",
    "no room for CUDA": "onnx runtime error 1: CUDA failure 2: out of memory ; GPU=0 ; hostname=h ; "
    "file=cuda_execution_provider.cc ; expr=cudaSetDevice(info_.device_id);",
}
"""What ONNX Runtime 1.31 said on an H200, but for the third, which is from reports."""

SHORT_QUEUE = "dynamic_batching { default_queue_policy { max_queue_size: 1 } }"
IMPATIENT_QUEUE = (
    "dynamic_batching { default_queue_policy { timeout_action: REJECT default_timeout_microseconds: 50000 } }"
)
WITHOUT_ARENA = 'parameters { key: "enable_mem_arena" value { string_value: "0" } }'
TOO_MANY = 2.0**40
"""Numbers that fit into no memory."""


@pytest.fixture(scope="module")
def server(triton_runtime, tmp_path_factory):
    """A server of every kind of model, for the tests that leave it as it is or mend what they do."""
    folder = tmp_path_factory.mktemp("scripted")
    repository = folder / "models"
    add_scripted_model(repository, "speaker", SAY, texts=list(ON_A_GPU.values()))
    add_scripted_model(repository, "broken", BREAK)
    for name in ("sleeper", "mortal", "unloaded", "other"):
        add_scripted_model(repository, name, SLEEP)
    add_scripted_model(repository, "short_queue", SLEEP, more=SHORT_QUEUE)
    add_scripted_model(repository, "impatient_queue", SLEEP, more=IMPATIENT_QUEUE)
    add_hungry_model(repository, "hungry")
    add_hungry_model(repository, "hungry_without_arena", more=WITHOUT_ARENA)
    with starting(triton_runtime, folder, model_control="explicit", extra_flags=["--load-model=*"]) as process:
        yield process


@pytest.fixture
def own_server(triton_runtime, tmp_path):
    """A server of one model, for one test to end."""
    add_scripted_model(tmp_path / "models", "sleeper", SLEEP)
    with starting(triton_runtime, tmp_path) as process:
        yield process


def starting(runtime, folder, **options):
    return TritonProcess(runtime, folder / "models", log_file=folder / "triton.log", ports=Ports.free(), **options)


@asynccontextmanager
async def connected(address, **options):
    """A stub on a channel as the gateway opens it, but for these options."""
    arguments = {**dict(ChannelOptions().arguments()), **options}
    async with grpc.aio.insecure_channel(address, list(arguments.items())) as channel:
        yield GRPCInferenceServiceStub(channel)


def ask(stub, model, x=0.0, *, timeout_s=20.0, **options):
    return stub.ModelInfer(asking(model, x, **options), timeout=timeout_s)


async def outcome(call):
    """The code of a call that fails, and what it is taken for."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    code = caught.value.code()
    return code, meaning_of(code, caught.value.details())


async def outcome_of(server, model, x=0.0, **options):
    async with connected(server.grpc_address) as stub:
        return await outcome(ask(stub, model, x, **options))


@pytest.mark.parametrize("case", ON_A_GPU)
async def test_out_of_memory_on_a_gpu(server, case):
    index = list(ON_A_GPU).index(case)
    assert await outcome_of(server, "speaker", index) == (StatusCode.INTERNAL, NO_MEMORY)


async def test_out_of_memory_in_the_arena_of_onnx_runtime(server):
    assert await outcome_of(server, "hungry", TOO_MANY) == (StatusCode.INTERNAL, NO_MEMORY)


async def test_out_of_memory_without_an_arena(server):
    assert await outcome_of(server, "hungry_without_arena", TOO_MANY) == (StatusCode.INTERNAL, NO_MEMORY)


async def test_a_model_that_ran_out_of_memory_answers_the_next_call(server):
    await outcome_of(server, "hungry", TOO_MANY)
    async with connected(server.grpc_address) as stub:
        answer = await ask(stub, "hungry", 3)
    assert np.frombuffer(answer.raw_output_contents[0], np.float32).tolist() == [3, 3, 3]


@pytest.mark.parametrize(("model", "meaning"), [("short_queue", QUEUE_FULL), ("impatient_queue", QUEUED_TOO_LONG)])
async def test_overloaded(server, model, meaning):
    async with connected(server.grpc_address) as stub:
        answers = await asyncio.gather(*(ask(stub, model, 0.3) for _ in range(6)), return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert 0 < len(errors) < 6
    assert {(error.code(), meaning_of(error.code(), error.details())) for error in errors} == {
        (StatusCode.UNAVAILABLE, meaning)
    }


async def test_draining_new_calls_are_refused_while_one_under_way_ends_well(own_server):
    async with connected(own_server.grpc_address) as stub:
        under_way = asyncio.ensure_future(ask(stub, "sleeper", 3.0))
        await asyncio.sleep(0.5)
        os.kill(own_server.pid, signal.SIGTERM)
        await asyncio.sleep(0.5)
        inference = await outcome(ask(stub, "sleeper"))
        metadata = await outcome(stub.ModelMetadata(ModelMetadataRequest(name="sleeper"), timeout=5))
        health = await outcome(stub.ServerReady(ServerReadyRequest(), timeout=5))
        answer = await under_way
    assert inference == metadata == (StatusCode.NOT_FOUND, NOT_LOADED)
    assert health == (StatusCode.UNAVAILABLE, STOPPING)
    assert answer.model_name == "sleeper"


async def test_draining_a_model_takes_nothing_from_another_one_any_more(triton_runtime, tmp_path):
    for name in ("first", "second"):
        add_scripted_model(tmp_path / "models", name, SLEEP)
    add_ensemble(tmp_path / "models", "both", ["first", "second"])
    with starting(triton_runtime, tmp_path) as server:
        async with connected(server.grpc_address) as stub:
            under_way = asyncio.ensure_future(ask(stub, "both", 2.0))
            await asyncio.sleep(0.5)
            os.kill(server.pid, signal.SIGTERM)
            assert await outcome(under_way) == (StatusCode.UNAVAILABLE, STOPPING)


async def test_not_ready_the_server_could_not_start_but_was_told_to_stay(triton_runtime, tmp_path):
    server = starting(triton_runtime, tmp_path / "without_models", extra_flags=["--exit-on-error=false"])
    server.start()
    try:
        async with connected(server.grpc_address) as stub:
            await stub.ServerLive(ServerLiveRequest(), timeout=60, wait_for_ready=True)
            assert await outcome(ask(stub, "sleeper")) == (StatusCode.UNAVAILABLE, STOPPING)
    finally:
        server.stop()


async def test_down_nothing_listens():
    async with connected(f"127.0.0.1:{Ports.free().grpc}") as stub:
        assert await outcome(ask(stub, "sleeper")) == (StatusCode.UNAVAILABLE, UNREACHABLE)


async def test_down_killed_with_a_call_under_way(own_server):
    async with connected(own_server.grpc_address) as stub:
        under_way = asyncio.ensure_future(ask(stub, "sleeper", 3.0))
        await asyncio.sleep(0.5)
        os.kill(own_server.pid, signal.SIGKILL)
        assert await outcome(under_way) == (StatusCode.UNAVAILABLE, UNREACHABLE)


async def test_hung_the_deadline_comes_first(server):
    async with connected(server.grpc_address) as stub:
        await ask(stub, "sleeper")
        with stopped(server.pid):
            assert await outcome(ask(stub, "sleeper", timeout_s=0.3)) == (StatusCode.DEADLINE_EXCEEDED, NO_ANSWER)


async def test_hung_the_ping_is_not_answered(server):
    async with connected(server.grpc_address) as stub:
        await ask(stub, "sleeper")
        with stopped(server.pid):
            assert await outcome(ask(stub, "sleeper")) == (StatusCode.UNAVAILABLE, NO_SIGN_OF_LIFE)


async def test_hung_a_new_connection_is_taken_but_nothing_is_said_on_it(server):
    async with connected(server.grpc_address) as stub:
        with stopped(server.pid):
            assert await outcome(ask(stub, "sleeper")) == (StatusCode.UNAVAILABLE, NO_SIGN_OF_LIFE)


async def test_model_missing_an_unknown_name(server):
    assert await outcome_of(server, "nobody") == (StatusCode.NOT_FOUND, MISSING)


async def test_model_missing_an_unknown_version(server):
    assert await outcome_of(server, "sleeper", version="9") == (StatusCode.NOT_FOUND, MISSING)


async def test_model_missing_its_metadata(server):
    async with connected(server.grpc_address) as stub:
        asked = stub.ModelMetadata(ModelMetadataRequest(name="nobody"), timeout=5)
        assert await outcome(asked) == (StatusCode.NOT_FOUND, MISSING)


async def test_model_not_loaded_it_was_unloaded(server):
    async with connected(server.grpc_address) as stub:
        await stub.RepositoryModelUnload(RepositoryModelUnloadRequest(model_name="unloaded"), timeout=20)
        assert await outcome(ask(stub, "unloaded")) == (StatusCode.NOT_FOUND, NOT_LOADED)


async def test_model_not_loaded_its_file_is_broken(server):
    async with connected(server.grpc_address) as stub:
        await stub.RepositoryModelUnload(RepositoryModelUnloadRequest(model_name="other"), timeout=20)
        (server.log_file.parent / "models" / "other" / "1" / "model.py").write_text("raise ImportError('broken')")
        with pytest.raises(grpc.aio.AioRpcError, match="ImportError: broken"):
            await stub.RepositoryModelLoad(RepositoryModelLoadRequest(model_name="other"), timeout=20)
        assert await outcome(ask(stub, "other")) == (StatusCode.NOT_FOUND, NOT_LOADED)


async def test_contract_broken_another_type(server):
    wrong = np.zeros((1, 1), np.int32)
    assert await outcome_of(server, "sleeper", wrong) == (StatusCode.INVALID_ARGUMENT, MISFIT)


@pytest.mark.parametrize("shape", [(1,), (1, 2), (1, 1, 1), (2, 1), (0, 1)], ids=str)
async def test_contract_broken_another_shape(server, shape):
    wrong = np.zeros(shape, np.float32)
    assert await outcome_of(server, "sleeper", wrong) == (StatusCode.INVALID_ARGUMENT, MISFIT)


async def test_contract_broken_an_input_is_missing(server):
    request = asking("sleeper", 0)
    request.ClearField("inputs")
    request.ClearField("raw_input_contents")
    async with connected(server.grpc_address) as stub:
        assert await outcome(stub.ModelInfer(request, timeout=5)) == (StatusCode.INVALID_ARGUMENT, MISFIT)


async def test_contract_broken_an_output_is_unknown(server):
    request = asking("sleeper", 0)
    request.outputs.add(name="z")
    async with connected(server.grpc_address) as stub:
        assert await outcome(stub.ModelInfer(request, timeout=5)) == (StatusCode.INVALID_ARGUMENT, MISFIT)


async def test_contract_broken_fewer_bytes_than_the_shape_takes(server):
    request = asking("sleeper", 0)
    request.raw_input_contents[0] = b"xx"
    async with connected(server.grpc_address) as stub:
        assert await outcome(stub.ModelInfer(request, timeout=5)) == (StatusCode.INVALID_ARGUMENT, MISFIT)


async def test_model_failed_an_exception_every_time(server):
    for _ in range(3):
        assert await outcome_of(server, "broken") == (StatusCode.INTERNAL, FAILED)


async def test_model_failed_a_shape_that_onnx_runtime_refuses(server):
    assert await outcome_of(server, "hungry", -5) == (StatusCode.INTERNAL, FAILED)


async def test_model_dead_its_process_was_killed_under_a_call_and_stays_dead(server):
    async with connected(server.grpc_address) as stub:
        under_way = asyncio.ensure_future(ask(stub, "mortal", 3.0))
        await asyncio.sleep(0.5)
        os.kill(process_of(server, "mortal"), signal.SIGKILL)
        assert await outcome(under_way) == (StatusCode.INTERNAL, DEAD)
        assert await outcome(ask(stub, "mortal")) == (StatusCode.INTERNAL, DEAD)
        assert (await stub.ModelReady(ModelReadyRequest(name="mortal"), timeout=5)).ready, "Triton notices at last"


def process_of(server, model):
    """The id of the model's stub process."""
    (found,) = [pid for pid in group_members(server.pid) if f"/{model}/" in Path(f"/proc/{pid}/cmdline").read_text()]
    return found


async def test_refused_the_protocol_is_restricted(triton_runtime, tmp_path):
    add_scripted_model(tmp_path / "models", "sleeper", SLEEP)
    flags = ["--grpc-restricted-protocol=inference:admin-key=secret"]
    with starting(triton_runtime, tmp_path, extra_flags=flags) as server:
        assert await outcome_of(server, "sleeper") == (StatusCode.UNAVAILABLE, REFUSED)


async def test_too_large_an_answer(server):
    async with connected(server.grpc_address, **{"grpc.max_receive_message_length": 1000}) as stub:
        assert await outcome(ask(stub, "hungry", 1000)) == (StatusCode.RESOURCE_EXHAUSTED, TOO_LARGE)


async def test_closed_by_the_gateway_under_a_call(server):
    channel = grpc.aio.insecure_channel(server.grpc_address, ChannelOptions().arguments())
    under_way = asyncio.ensure_future(translated_call(GRPCInferenceServiceStub(channel)))
    await asyncio.sleep(0.5)
    await channel.close()
    with pytest.raises(BackendUnavailable, match=CLOSED.words):
        await under_way


async def translated_call(stub):
    with translated("sleeper"):
        await ask(stub, "sleeper", 3.0)
