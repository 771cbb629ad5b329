import asyncio
import sys
import time
from contextlib import asynccontextmanager

import numpy as np
import pytest
from made_configs import detection_config, recognition_config, row_config
from made_onnx import BLUE_MAP, BROKEN, ENDLESS, HUGE, LOWEST_BITS, store

from gateway.errors import (
    BackendUnavailable,
    ContractError,
    InferenceFailed,
    InferenceTimeout,
    OutOfMemory,
    UnexpectedOutput,
)
from gateway.inference.embedded import EmbeddedBackend
from gateway.metrics import CALLS

IMAGE = np.arange(32 * 64 * 3, dtype=np.uint32).astype(np.uint8).reshape(32, 64, 3)
ROWS = np.random.default_rng(0).integers(0, 256, (3, 48, 32, 3), np.uint8)


@asynccontextmanager
async def opened(repository, *, detect=BLUE_MAP, threads=2):
    store(repository, detection_config(), detect)
    store(repository, recognition_config(), LOWEST_BITS)
    backend = await EmbeddedBackend.open(repository, threads=threads)
    try:
        yield backend
    finally:
        await backend.close()


async def test_an_image_becomes_its_map(tmp_path):
    async with opened(tmp_path) as backend:
        np.testing.assert_array_equal(await backend.detect(IMAGE, timeout_s=30), IMAGE[..., 0])


async def test_rows_become_their_steps(tmp_path):
    async with opened(tmp_path) as backend:
        steps = await backend.recognize(ROWS, timeout_s=30)
    np.testing.assert_array_equal(steps.class_index, ROWS[:, 0, :, 0] % 4)
    np.testing.assert_allclose(steps.probability, ROWS[:, 0, :, 0] % 4 / 4)
    np.testing.assert_allclose(steps.space_probability, ROWS[:, 0, :, 0] % 4 / 16)


async def test_the_contract_is_that_of_the_repository(tmp_path):
    async with opened(tmp_path) as backend:
        assert backend.contract.model_set == "tiny"
        assert backend.contract.recognition.buckets == (32, 64)
        assert backend.contract.recognition.models[0].version == "1"


async def test_a_repository_of_one_model_per_shape_is_served_too(tmp_path):
    store(tmp_path, detection_config(name="text_detection_h32_w64", height=32, width=64), BLUE_MAP)
    store(tmp_path, row_config(32, 1), LOWEST_BITS)
    store(tmp_path, row_config(32, 8), LOWEST_BITS)
    backend = await EmbeddedBackend.open(tmp_path, threads=1)
    steps = await backend.recognize(ROWS, timeout_s=30)
    np.testing.assert_array_equal(steps.class_index, ROWS[:, 0, :, 0] % 4)
    await backend.close()


async def test_calls_run_side_by_side(tmp_path):
    async with opened(tmp_path) as backend:
        maps = await asyncio.gather(*(backend.detect(IMAGE + step, timeout_s=30) for step in range(8)))
    for step, map_ in enumerate(maps):
        np.testing.assert_array_equal(map_, IMAGE[..., 0] + step)


async def test_a_run_ends_soon_after_its_deadline_and_leaves_its_thread_to_the_next(tmp_path):
    async with opened(tmp_path, detect=ENDLESS, threads=1) as backend:
        with pytest.raises(InferenceTimeout, match="text_detection: no answer in time"):
            await backend.detect(IMAGE, timeout_s=0.1)
        assert (await backend.recognize(ROWS, timeout_s=30)).class_index.shape == (3, 32)


async def test_a_cancelled_run_leaves_its_thread_to_the_next(tmp_path):
    async with opened(tmp_path, detect=ENDLESS, threads=1) as backend:
        task = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await backend.recognize(ROWS, timeout_s=30)).class_index.shape == (3, 32)


async def test_a_run_that_waits_for_a_thread_past_its_deadline_never_starts(tmp_path):
    async with opened(tmp_path, detect=ENDLESS, threads=1) as backend:
        running = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await asyncio.sleep(0.1)
        with pytest.raises(InferenceTimeout):
            await backend.recognize(ROWS, timeout_s=0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_closing_ends_runs_and_refuses_new_ones(tmp_path):
    async with opened(tmp_path, detect=ENDLESS, threads=1) as backend:
        running, waiting = (asyncio.create_task(backend.detect(IMAGE, timeout_s=60)) for _ in range(2))
        await asyncio.sleep(0.1)
        await backend.close()
        for task in (running, waiting):
            with pytest.raises(BackendUnavailable, match="text_detection: "):
                await task
        with pytest.raises(BackendUnavailable, match="text_detection: "):
            await backend.detect(IMAGE, timeout_s=60)


@pytest.mark.parametrize(("model", "expected"), [(HUGE, OutOfMemory), (BROKEN, InferenceFailed)])
async def test_failures_are_told_by_the_same_texts_as_tritons(tmp_path, model, expected):
    async with opened(tmp_path, detect=model) as backend:
        with pytest.raises(expected, match="text_detection: ") as raised:
            await backend.detect(IMAGE, timeout_s=30)
    assert "ONNXRuntimeError" in str(raised.value.__cause__)


async def test_a_model_of_another_input_type_refuses_the_request(tmp_path):
    async with opened(tmp_path, detect=BLUE_MAP.replace("uint8", "int16")) as backend:
        with pytest.raises(UnexpectedOutput, match="does not fit"):
            await backend.detect(IMAGE, timeout_s=30)


async def test_outcomes_are_counted_by_model(tmp_path):
    before = CALLS.labels("text_detection", "out_of_memory")._value.get()
    async with opened(tmp_path, detect=HUGE) as backend:
        with pytest.raises(OutOfMemory):
            await backend.detect(IMAGE, timeout_s=30)
    assert CALLS.labels("text_detection", "out_of_memory")._value.get() == before + 1


async def test_the_time_of_the_last_answer_is_noted(tmp_path):
    async with opened(tmp_path) as backend:
        assert backend.last_answer_at == 0
        started = time.monotonic()
        await backend.detect(IMAGE, timeout_s=30)
        assert backend.last_answer_at >= started


async def test_models_are_loaded_once(tmp_path):
    async with opened(tmp_path) as backend:
        before = backend.contract
        await asyncio.gather(backend.refresh(), backend.refresh())
        assert backend.contract is before


async def test_there_is_no_contract_before_the_models_are_loaded(tmp_path):
    backend = EmbeddedBackend(tmp_path, threads=1)
    with pytest.raises(BackendUnavailable, match="not been read yet"):
        _ = backend.contract
    await backend.close()


async def test_a_file_that_is_no_model_is_refused(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP)
    store(tmp_path, recognition_config(), LOWEST_BITS)
    (tmp_path / "text_detection" / "1" / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ContractError, match=r"model.onnx can't be loaded"):
        await EmbeddedBackend.open(tmp_path)


async def test_a_model_with_other_tensors_than_its_configuration_says_is_refused(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP.replace("image", "picture"))
    store(tmp_path, recognition_config(), LOWEST_BITS)
    with pytest.raises(ContractError, match=r"tensors \['image'\], but .* has \['picture'\]"):
        await EmbeddedBackend.open(tmp_path)


async def test_without_onnx_runtime_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'ocr-gateway\[embedded\]'"):
        EmbeddedBackend(tmp_path)
