import asyncio

import grpc
import pytest
from grpc import StatusCode

from gateway.errors import (
    BackendUnavailable,
    InferenceFailed,
    InferenceTimeout,
    OutOfMemory,
    Overloaded,
    UnexpectedOutput,
)
from gateway.inference.failures import (
    BY_CODE,
    BY_TEXT,
    DEAD,
    FAILED,
    MISSING,
    NOT_LOADED,
    REFUSED,
    STOPPING,
    UNREACHABLE,
    meaning_of,
    translated,
)


def rpc_error(code, text):
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), grpc.aio.Metadata(), details=text)


def test_every_status_code_but_success_has_a_meaning():
    assert set(BY_CODE) == set(StatusCode) - {StatusCode.OK}


def test_texts_are_compared_in_lower_case():
    assert [text for text, _ in BY_TEXT] == [text.lower() for text, _ in BY_TEXT]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (StatusCode.INTERNAL, "", InferenceFailed),
        (
            StatusCode.INTERNAL,
            "onnx runtime error 1: Status Message: Available memory of 8 is smaller than requested bytes of 70797568",
            OutOfMemory,
        ),
        (
            StatusCode.INTERNAL,
            "onnx runtime error 6: Failed to allocate memory for requested buffer of size 47185920",
            OutOfMemory,
        ),
        (StatusCode.INTERNAL, "CUDA failure 2: out of memory ; GPU=0 ; expr=cudaSetDevice", OutOfMemory),
        (StatusCode.INTERNAL, "CUBLAS failure 3: the resource allocation failed ; GPU=0", OutOfMemory),
        (StatusCode.UNKNOWN, "std::bad_alloc", OutOfMemory),
        (
            StatusCode.INTERNAL,
            "Failed to increase the shared memory pool size for key 'triton_python_backend_shm_region_1' to 67108864",
            OutOfMemory,
        ),
        (StatusCode.INTERNAL, "Stub process 'text_recognition_0_0' is not healthy.", BackendUnavailable),
        (StatusCode.INTERNAL, "Received RST_STREAM with error code 2", BackendUnavailable),
        (StatusCode.INTERNAL, "Failed to process the request(s) for model instance 'x_0'", InferenceFailed),
        (
            StatusCode.UNAVAILABLE,
            "failed to connect to all addresses; last error: Connection refused",
            BackendUnavailable,
        ),
        (StatusCode.UNAVAILABLE, "Stream removed (Socket closed)", BackendUnavailable),
        (StatusCode.UNAVAILABLE, "Server exiting", BackendUnavailable),
        (StatusCode.UNAVAILABLE, "This protocol is restricted, expecting header 'x'", BackendUnavailable),
        (StatusCode.UNAVAILABLE, "Exceeds maximum queue size", Overloaded),
        (StatusCode.UNAVAILABLE, "Request timeout expired", Overloaded),
        (StatusCode.UNAVAILABLE, "Stream removed (ping timeout)", InferenceTimeout),
        (
            StatusCode.UNAVAILABLE,
            "last error: UNAVAILABLE: ipv4:10.0.0.1:8001: connection attempt timed out before receiving SETTINGS frame",
            InferenceTimeout,
        ),
        (StatusCode.NOT_FOUND, "Request for unknown model: 'x' has no available versions", BackendUnavailable),
        (StatusCode.INVALID_ARGUMENT, "batch-size must be <= 4", UnexpectedOutput),
        (StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", InferenceTimeout),
        (StatusCode.RESOURCE_EXHAUSTED, "", Overloaded),
        (StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (5000000 vs. 4194304)", InferenceFailed),
        (StatusCode.CANCELLED, "", BackendUnavailable),
    ],
)
def test_code_and_text_give_the_error(code, text, expected):
    assert meaning_of(code, text).error is expected


@pytest.mark.parametrize(
    ("code", "text", "meaning"),
    [
        (StatusCode.NOT_FOUND, "Request for unknown model: 'x' is not found", MISSING),
        (StatusCode.NOT_FOUND, "Request for unknown model: 'x' version 9 is not found", MISSING),
        (StatusCode.NOT_FOUND, "Request for unknown model: 'x' has no available versions", NOT_LOADED),
        (StatusCode.UNAVAILABLE, "Server exiting", STOPPING),
        (StatusCode.UNAVAILABLE, "This protocol is restricted, expecting header 'x'", REFUSED),
        (StatusCode.UNAVAILABLE, "Socket closed", UNREACHABLE),
        (StatusCode.INTERNAL, "Stub process 'x_0_0' is not healthy.", DEAD),
        (StatusCode.INTERNAL, "Failed to process the request(s) for model 'x_0_0'", FAILED),
    ],
)
def test_what_is_the_same_to_a_caller_is_told_apart_for_an_operator(code, text, meaning):
    assert meaning_of(code, text) == meaning


def test_no_two_meanings_are_said_in_the_same_words():
    meanings = {*BY_CODE.values(), *(meaning for _, meaning in BY_TEXT)}
    assert len({meaning.words for meaning in meanings}) == len(meanings)


async def test_a_translated_error_names_its_subject_and_keeps_its_cause_but_not_its_text():
    cause = rpc_error(StatusCode.UNAVAILABLE, "failed to connect to 10.1.2.3:8001")
    with pytest.raises(BackendUnavailable) as raised, translated("text_detection"):
        raise cause
    assert raised.value.detail == "text_detection: the inference server can't be reached"
    assert raised.value.__cause__ is cause


async def test_a_call_on_a_closed_channel_finds_the_backend_unavailable():
    with pytest.raises(BackendUnavailable, match="closed its connection"), translated("text_detection"):
        raise grpc.aio.UsageError("Channel is closed.")


async def test_a_cancelled_task_stays_cancelled():
    async def work():
        with translated("text_detection"):
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_call_that_was_cancelled_under_its_task_finds_the_backend_unavailable():
    call = asyncio.get_running_loop().create_future()
    call.cancel()
    with pytest.raises(BackendUnavailable, match="closed its connection"), translated("text_detection"):
        await call


async def test_errors_of_our_own_pass_through():
    with pytest.raises(UnexpectedOutput, match="as it is"), translated("text_detection"):
        raise UnexpectedOutput("as it is")
