import grpc
import numpy as np
import pytest
from fake_triton import FakeTriton, ModelFailure, input_of, listening
from made_configs import detection_config, recognition_config

from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout, OutOfMemory
from gateway.inference.checkup import check_up


async def blank_map(request):
    return {"probability_map": np.zeros_like(input_of(request)[..., 0])}


async def blank_steps(request):
    (rows, steps) = len(input_of(request)), 4
    return {
        "class_index": np.zeros((rows, steps), np.int32),
        "probability": np.ones((rows, steps), np.float32),
        "space_probability": np.zeros((rows, steps), np.float32),
    }


def failing(code, text):
    async def model(request):
        raise ModelFailure(code, text)

    return model


def triton_with(**models):
    served = {"text_detection": blank_map, "text_recognition": blank_steps, **models}
    return FakeTriton({one.name: one for one in (detection_config(), recognition_config())}, served)


async def test_both_models_are_run_on_a_few_pixels():
    triton = triton_with()
    async with listening(triton) as address:
        await check_up(address)
    assert [(request.model_name, input_of(request).shape) for request in triton.probes] == [
        ("text_detection", (1, 32, 32, 3)),
        ("text_recognition", (1, 48, 32, 3)),
    ]


@pytest.mark.parametrize("model", ["text_detection", "text_recognition"])
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Stub process 'x_0_0' is not healthy.", BackendUnavailable),
        ("onnx runtime error 1: broken", InferenceFailed),
        ("onnx runtime error 6: Failed to allocate memory for requested buffer of size 1", OutOfMemory),
    ],
)
async def test_a_model_that_answers_an_error_is_found(model, text, error):
    async with listening(triton_with(**{model: failing(grpc.StatusCode.INTERNAL, text)})) as address:
        with pytest.raises(error):
            await check_up(address)


@pytest.mark.parametrize("model", ["text_detection", "text_recognition"])
async def test_a_model_that_does_not_answer_is_found(model):
    triton = triton_with()
    triton.models[model] = triton.hang
    triton.models_probed = True
    async with listening(triton) as address:
        with pytest.raises(InferenceTimeout):
            await check_up(address, finish_s=0.1)


async def test_a_full_queue_is_no_fault_of_the_models():
    full = failing(grpc.StatusCode.UNAVAILABLE, "Exceeds maximum queue size")
    async with listening(triton_with(text_detection=full)) as address:
        await check_up(address)


async def test_a_server_without_models_is_found():
    async with listening(FakeTriton({}, {})) as address:
        with pytest.raises(BackendUnavailable):
            await check_up(address)


async def test_a_server_that_is_not_there_is_found():
    async with listening(triton_with()) as address:
        pass
    with pytest.raises(BackendUnavailable):
        await check_up(address)
