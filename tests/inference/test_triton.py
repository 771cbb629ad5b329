import asyncio
import socket
from contextlib import asynccontextmanager

import grpc
import numpy as np
import pytest
from asgi_correlation_id import correlation_id
from fake_triton import FakeTriton, ModelFailure, answer_of, blanks, input_of, listening
from made_configs import (
    detection_config,
    original_detection_config,
    original_recognition_config,
    recognition_config,
    row_config,
)

from gateway.errors import (
    BackendUnavailable,
    ContractError,
    InferenceFailed,
    InferenceTimeout,
    OutOfMemory,
    Overloaded,
    UnexpectedOutput,
)
from gateway.inference.triton import TritonBackend
from gateway.metrics import CALL_SECONDS, CALLS, CALLS_IN_FLIGHT, WIRE_BYTES

IMAGE = np.arange(32 * 64 * 3, dtype=np.uint32).astype(np.uint8).reshape(32, 64, 3)
ROWS = np.random.default_rng(0).integers(0, 256, (3, 48, 32, 3), np.uint8)


async def brightness_map(request):
    """A detector whose map is the blue channel."""
    return {"probability_map": input_of(request)[..., 0]}


async def first_pixels(request):
    """A recogniser of four steps whose classes are the lowest bits of each row's first pixel."""
    rows = input_of(request)
    class_index = np.repeat((rows[:, 0, 0, 0] & 3).astype(np.int32)[:, np.newaxis], 4, axis=1)
    return {
        "class_index": class_index,
        "probability": np.full(class_index.shape, 0.75, np.float32),
        "space_probability": np.full(class_index.shape, 0.125, np.float32),
    }


def failing(code, text):
    async def model(request):
        raise ModelFailure(code, text)

    return model


def answering(answer):
    async def model(request):
        return answer

    return model


def triton_of(*configs, detect=brightness_map, recognize=first_pixels):
    models = {one.name: detect if one.name.startswith("text_detection") else recognize for one in configs}
    return FakeTriton({one.name: one for one in configs}, models)


def edited(**models):
    triton = triton_of(detection_config(), recognition_config())
    kinds = {"detect": "text_detection", "recognize": "text_recognition"}
    triton.models |= {kinds[kind]: model for kind, model in models.items()}
    return triton


@asynccontextmanager
async def connected(triton):
    async with listening(triton) as address:
        backend = await TritonBackend.connect(address)
        try:
            yield backend
        finally:
            await backend.close()


async def test_an_image_becomes_its_map():
    triton = edited()
    async with connected(triton) as backend:
        map_ = await backend.detect(IMAGE, timeout_s=5)
    np.testing.assert_array_equal(map_, IMAGE[..., 0])
    np.testing.assert_array_equal(input_of(triton.requests[0]), IMAGE[np.newaxis])


async def test_rows_become_their_steps():
    async with connected(edited()) as backend:
        steps = await backend.recognize(ROWS, timeout_s=5)
    assert steps.class_index[:, 2].tolist() == (ROWS[:, 0, 0, 0] & 3).tolist()
    assert steps.probability.tolist() == [[0.75] * 4] * 3
    assert steps.space_probability.tolist() == [[0.125] * 4] * 3


async def test_only_the_outputs_of_the_contract_are_asked_for():
    triton = edited()
    async with connected(triton) as backend:
        await backend.recognize(ROWS, timeout_s=5)
    assert [one.name for one in triton.requests[0].outputs] == ["class_index", "probability", "space_probability"]


async def test_original_models_are_served_through_the_same_methods():
    async def sigmoid(request):
        return {"sigmoid_0.tmp_0": np.full((1, 1, *input_of(request).shape[2:]), 0.5, np.float32)}

    async def softmax(request):
        rows = len(input_of(request))
        return {"softmax_2.tmp_0": np.tile(np.array([0.1, 0.5, 0.2, 0.2], np.float32), (rows, 4, 1))}

    configs = original_detection_config(), original_recognition_config()
    async with connected(triton_of(*configs, detect=sigmoid, recognize=softmax)) as backend:
        map_ = await backend.detect(IMAGE, timeout_s=5)
        steps = await backend.recognize(ROWS, timeout_s=5)
    np.testing.assert_array_equal(map_, np.full((32, 64), 128))
    np.testing.assert_array_equal(steps.class_index, np.full((3, 4), 1))
    np.testing.assert_allclose(steps.space_probability, np.full((3, 4), 0.2))


async def test_the_model_that_takes_this_very_number_of_rows_is_asked():
    triton = triton_of(detection_config(), row_config(32, 1), row_config(32, 2), row_config(32, 8))
    async with connected(triton) as backend:
        await backend.recognize(ROWS[:2], timeout_s=5)
    assert triton.requests[0].model_name == "text_recognition_w32_r2"


async def test_a_shape_that_is_not_served_is_refused_before_it_is_sent():
    triton = edited()
    async with connected(triton) as backend:
        with pytest.raises(ContractError, match="33x64"):
            await backend.detect(np.zeros((33, 64, 3), np.uint8), timeout_s=5)
    assert triton.requests == []


async def test_messages_may_be_larger_than_four_megabytes():
    image = np.zeros((1280, 1280, 3), np.uint8)
    async with connected(edited()) as backend:
        assert (await backend.detect(image, timeout_s=20)).shape == (1280, 1280)


async def test_the_request_id_is_passed_on_where_there_is_one():
    triton = edited()
    async with connected(triton) as backend:
        await backend.detect(IMAGE, timeout_s=5)
        token = correlation_id.set("request-7")
        await backend.detect(IMAGE, timeout_s=5)
        correlation_id.reset(token)
    assert [one.id for one in triton.requests] == ["", "request-7"]


async def test_every_call_carries_its_deadline():
    triton = edited()
    async with connected(triton) as backend:
        await backend.detect(IMAGE, timeout_s=7)
    assert triton.time_left_s == pytest.approx(7, abs=2)


async def test_a_hang_ends_at_the_deadline_and_is_cancelled_in_the_server():
    triton = edited()
    triton.models["text_recognition"] = triton.hang
    async with connected(triton) as backend:
        with pytest.raises(InferenceTimeout) as raised:
            await backend.recognize(ROWS, timeout_s=0.2)
        await asyncio.wait_for(triton.cancelled.wait(), 5)
    assert raised.value.__cause__.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_without_time_left_nothing_is_sent():
    triton = edited()
    async with connected(triton) as backend:
        with pytest.raises(InferenceTimeout, match="no time left"):
            await backend.recognize(ROWS, timeout_s=0)
    assert triton.requests == []


async def test_cancelling_the_task_cancels_the_call_in_the_server():
    triton = edited()
    triton.models["text_recognition"] = triton.hang
    async with connected(triton) as backend:
        task = asyncio.create_task(backend.recognize(ROWS, timeout_s=30))
        await triton.busy.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(triton.cancelled.wait(), 5)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (grpc.StatusCode.INTERNAL, "Available memory of 8 is smaller than requested bytes of 9", OutOfMemory),
        (grpc.StatusCode.INTERNAL, "Stub process 'text_recognition_0_0' is not healthy.", BackendUnavailable),
        (grpc.StatusCode.INTERNAL, "index out of range", InferenceFailed),
        (grpc.StatusCode.UNAVAILABLE, "Exceeds maximum queue size", Overloaded),
        (grpc.StatusCode.NOT_FOUND, "'text_recognition' has no available versions", BackendUnavailable),
        (grpc.StatusCode.INVALID_ARGUMENT, "batch-size must be <= 4", UnexpectedOutput),
        (grpc.StatusCode.CANCELLED, "cancelled", BackendUnavailable),
    ],
)
async def test_a_failure_is_told_by_code_and_text(code, text, expected):
    async with connected(edited(recognize=failing(code, text))) as backend:
        with pytest.raises(expected, match="text_recognition: ") as raised:
            await backend.recognize(ROWS, timeout_s=5)
    assert raised.value.__cause__.details() == text


def without_bytes():
    answer = answer_of({"probability_map": np.zeros((1, 32, 64), np.uint8)})
    del answer.raw_output_contents[:]
    return answer


def with_bytes_missing():
    answer = answer_of({"probability_map": np.zeros((1, 32, 64), np.uint8)})
    answer.raw_output_contents[0] = b"few"
    return answer


def of_an_unknown_type():
    answer = answer_of({"probability_map": np.zeros((1, 32, 64), np.uint8)})
    answer.outputs[0].datatype = "BYTES"
    return answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "without 'probability_map'"),
        ({"probability_map": np.zeros((1, 64, 32), np.uint8)}, r"\[1, 64, 32\], expected uint8 \[1, 32, 64\]"),
        ({"probability_map": np.zeros((1, 32, 64), np.float32)}, r"float32 \[1, 32, 64\], expected uint8"),
        (without_bytes(), "describes 1 tensors, but carries 0"),
        (with_bytes_missing(), r"3 bytes, but UINT8 \[1, 32, 64\] takes 2048"),
        (of_an_unknown_type(), "is BYTES, expected one of UINT8, INT32, FP32"),
    ],
    ids=["nothing", "shape", "type", "no bytes", "few bytes", "unknown type"],
)
async def test_an_answer_that_does_not_fit_is_refused(answer, message):
    async with connected(edited(detect=answering(answer))) as backend:
        with pytest.raises(UnexpectedOutput, match=message):
            await backend.detect(IMAGE, timeout_s=5)


async def test_closing_ends_calls_in_flight_and_refuses_new_ones():
    triton = edited()
    triton.models["text_recognition"] = triton.hang
    async with connected(triton) as backend:
        task = asyncio.create_task(backend.recognize(ROWS, timeout_s=30))
        await triton.busy.wait()
        await backend.close()
        with pytest.raises(BackendUnavailable, match="closed its connection"):
            await task
        with pytest.raises(BackendUnavailable, match="closed its connection"):
            await backend.recognize(ROWS, timeout_s=30)


async def test_a_server_that_is_away_is_told_at_once_and_found_when_it_is_there(unused_tcp_port):
    backend = TritonBackend(f"127.0.0.1:{unused_tcp_port}")
    with pytest.raises(BackendUnavailable, match="can't be reached"):
        await backend.refresh()
    async with listening(edited(), unused_tcp_port):
        for _ in range(100):
            try:
                await backend.refresh()
                break
            except BackendUnavailable:
                await asyncio.sleep(0.05)
        assert (await backend.detect(IMAGE, timeout_s=5)).shape == (32, 64)
        await backend.close()


async def test_a_server_that_takes_connections_but_never_answers_gives_no_sign_of_life():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        backend = TritonBackend(f"127.0.0.1:{silent.getsockname()[1]}", timeout_s=10)
        with pytest.raises(InferenceTimeout, match="no sign of life"):
            await backend.refresh()
        await backend.close()


async def test_there_is_no_contract_before_it_has_been_read():
    backend = TritonBackend("127.0.0.1:1")
    with pytest.raises(BackendUnavailable, match="not been read yet"):
        _ = backend.contract
    await backend.close()


async def test_the_highest_version_is_the_one_that_answers():
    triton = edited()
    triton.version = "12"
    async with connected(triton) as backend:
        assert backend.contract.detection.models[0].version == "12"


async def test_a_single_model_is_found_without_the_statistics_which_may_be_restricted():
    triton = edited()
    triton.restricted = True
    async with connected(triton):
        assert "statistics" not in triton.calls


async def test_models_of_one_shape_each_are_found_by_their_names():
    triton = triton_of(
        detection_config(name="text_detection_h32_w64", height=32, width=64), row_config(32, 8), row_config(64, 1)
    )
    triton.configs["text_recognition_old"] = recognition_config(name="text_recognition_old")
    async with connected(triton) as backend:
        assert backend.contract.detection.shapes == ((32, 64),)
        assert [one.name for one in backend.contract.recognition.models] == [
            "text_recognition_w32_r8",
            "text_recognition_w64_r1",
        ]


@pytest.mark.parametrize(
    ("restricted", "message"),
    [
        (False, "no model text_detection nor one per shape is ready; ready: text_recognition"),
        (True, "text_detection: the inference server refuses the gateway"),
    ],
)
async def test_models_that_are_not_there_are_named(restricted, message):
    triton = triton_of(recognition_config())
    triton.restricted = restricted
    async with listening(triton) as address:
        with pytest.raises(BackendUnavailable, match=message):
            await TritonBackend.connect(address)


async def test_models_that_do_not_fit_are_refused_when_they_are_read():
    async with listening(triton_of(detection_config(), recognition_config(charset="a\nb"))) as address:
        with pytest.raises(ContractError, match="the last of 3 classes is 'b'"):
            await TritonBackend.connect(address)


async def test_a_refresh_that_fails_leaves_the_contract_as_it_was():
    triton = edited()
    async with connected(triton) as backend:
        before = backend.contract
        del triton.configs["text_recognition"]
        with pytest.raises(BackendUnavailable):
            await backend.refresh()
        assert backend.contract is before


async def test_a_new_version_of_the_same_models_goes_on_answering():
    triton = edited()
    async with connected(triton) as backend:
        triton.version = "2"
        answers = await asyncio.gather(*(backend.recognize(ROWS, timeout_s=5) for _ in range(4)))
        assert [one.class_index.shape for one in answers] == [(3, 4)] * 4
        assert backend.contract.recognition.models[0].version == "2"
    assert triton.calls.count("config text_recognition") == 2


async def test_an_answer_of_a_new_version_with_another_charset_is_not_believed():
    triton = edited()
    async with connected(triton) as backend:
        triton.version = "2"
        triton.configs["text_recognition"] = recognition_config(charset="b\na\n ")
        with pytest.raises(BackendUnavailable, match="replaced"):
            await backend.recognize(ROWS, timeout_s=5)
        assert backend.contract.recognition.charset == ("", "b", "a", " ")
        assert (await backend.recognize(ROWS, timeout_s=5)).class_index.shape == (3, 4)


async def test_an_answer_of_a_version_that_is_not_served_any_more_is_not_believed():
    triton = edited()
    async with connected(triton) as backend:
        triton.answering_version = "0"
        with pytest.raises(BackendUnavailable, match="version 0 answered"):
            await backend.recognize(ROWS, timeout_s=5)


async def test_what_a_version_answered_that_is_gone_is_asked_for_again():
    triton, versions = edited(), iter(["0", None])

    async def replaced(request):
        triton.answering_version = next(versions)
        return await blanks(request)

    triton.models["text_recognition"] = replaced
    async with connected(triton) as backend:
        assert (await backend.recognize(ROWS, timeout_s=5)).class_index.shape == (3, 4)
    assert len(triton.requests) == 2


async def test_calls_are_counted_by_model_and_outcome():
    triton = triton_of(detection_config(), row_config(32, 3))
    name = "text_recognition_w32_r3"
    async with connected(triton) as backend:
        await backend.recognize(ROWS, timeout_s=5)
        triton.models[name] = failing(grpc.StatusCode.INTERNAL, "out of memory")
        with pytest.raises(OutOfMemory):
            await backend.recognize(ROWS, timeout_s=5)
        triton.models[name] = triton.hang
        task = asyncio.create_task(backend.recognize(ROWS, timeout_s=30))
        await triton.busy.wait()
        assert value(CALLS_IN_FLIGHT, name) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert value(CALLS_IN_FLIGHT, name) == 0
    assert [value(CALLS, name, outcome) for outcome in ("ok", "out_of_memory", "cancelled")] == [1, 1, 1]
    assert CALL_SECONDS.labels(name)._sum.get() > 0


async def test_the_size_of_messages_is_counted_in_both_directions():
    triton = triton_of(detection_config(), row_config(32, 4))
    name = "text_recognition_w32_r4"
    async with connected(triton) as backend:
        await backend.recognize(ROWS, timeout_s=5)
    assert value(WIRE_BYTES, name, "request") == triton.requests[0].ByteSize()
    assert value(WIRE_BYTES, name, "response") == len(ROWS) * 4 * 12


def value(metric, *labels):
    return metric.labels(*labels)._value.get()


async def test_the_time_of_the_last_answer_moves_with_answers_only():
    triton = edited()
    async with connected(triton) as backend:
        assert backend.last_answer_at == 0
        triton.models["text_detection"] = failing(grpc.StatusCode.INTERNAL, "broken")
        with pytest.raises(InferenceFailed):
            await backend.detect(IMAGE, timeout_s=5)
        assert backend.last_answer_at == 0
        triton.models["text_detection"] = brightness_map
        await backend.detect(IMAGE, timeout_s=5)
        assert backend.last_answer_at > 0
