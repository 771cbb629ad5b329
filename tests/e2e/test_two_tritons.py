"""Two real tritonservers, or one, and what becomes of calls when one is killed, stopped, ended or broken."""

import asyncio
import os
import signal
import time
from contextlib import asynccontextmanager

import pytest
from prometheus_client import REGISTRY
from tiny_tritons import IMAGE, Load, tiny_tritons

from gateway.errors import BackendUnavailable
from gateway.inference.triton import TritonBackend

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CALLS = 1000
BEFORE_FAULT_S = 1.5


@asynccontextmanager
async def backend_on(tritons):
    backend = await TritonBackend.connect(",".join(triton.address for triton in tritons))
    try:
        await until(lambda: backend.servers == len(tritons))
        yield backend
    finally:
        await backend.close()


async def until(condition):
    """Wait until it holds; the seconds that it took."""
    began_at = time.monotonic()
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - processes don't tell
            await asyncio.sleep(0.01)
    return time.monotonic() - began_at


def calls_of(triton, outcome="ok"):
    labels = {"endpoint": triton.address, "outcome": outcome}
    return REGISTRY.get_sample_value("ocr_endpoint_calls_total", labels) or 0


def attempts_of(tritons):
    samples = (sample for metric in REGISTRY.collect() for sample in metric.samples)
    addresses = {triton.address for triton in tritons}
    return sum(
        sample.value
        for sample in samples
        if sample.name == "ocr_endpoint_calls_total" and sample.labels["endpoint"] in addresses
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP], ids=lambda number: number.name)
async def test_no_call_fails_when_one_of_two_servers_does(triton_runtime, tmp_path, measured, number):
    with tiny_tritons(triton_runtime, tmp_path, 2) as tritons:
        async with backend_on(tritons) as backend:
            load = Load(backend)
            running = asyncio.create_task(load.run(CALLS))
            await asyncio.sleep(BEFORE_FAULT_S)
            os.kill(tritons[0].pid, number)
            noticed_s = await until(lambda: backend.servers == 1)
            await running
            attempts = attempts_of(tritons)
    measured(
        f"{number.name} of one of two: {load.failed} of {CALLS} calls failed, {attempts:.0f} attempts, out of rotation "
        f"after {noticed_s:.2f} s, the longest call took {load.longest_s:.2f} s"
    )
    assert load.outcomes == {"ok": CALLS}
    assert attempts <= 1.1 * CALLS


@pytest.mark.parametrize("how", ["fail", "exit"])
@pytest.mark.parametrize("model", ["text_detection", "text_recognition"])
async def test_no_call_fails_when_a_model_of_one_of_two_servers_does(triton_runtime, tmp_path, measured, how, model):
    with tiny_tritons(triton_runtime, tmp_path, 2) as tritons:
        async with backend_on(tritons) as backend:
            load = Load(backend)
            running = asyncio.create_task(load.run(CALLS // 4))
            await asyncio.sleep(BEFORE_FAULT_S)
            tritons[0].break_model(model, how)
            noticed_s = await until(lambda: backend.servers == 1)
            assert tritons[0].process.is_ready()
            await running
    measured(f"{model} of one of two begins to {how}: out of rotation after {noticed_s:.2f} s")
    assert load.outcomes == {"ok": CALLS // 4}
    assert backend.endpoints[0].state == "failing"


@pytest.mark.parametrize("outage_s", [1, 5])
async def test_a_server_that_comes_back_gets_its_share_at_once(triton_runtime, tmp_path, measured, outage_s):
    with tiny_tritons(triton_runtime, tmp_path, 2) as tritons:
        async with backend_on(tritons) as backend:
            tritons[0].process.stop(timeout_s=0)
            await until(lambda: backend.servers == 1)
            await asyncio.sleep(outage_s)
            before = calls_of(tritons[0])
            load = Load(backend)
            running = asyncio.create_task(load.run(CALLS // 4))
            await tritons[0].start_again()
            took_s = await until(lambda: calls_of(tritons[0]) > before)
            await running
    measured(f"back after an outage of {outage_s} s: first call {took_s:.2f} s after it was ready")
    assert load.failed == 0


async def test_calls_fail_at_once_while_the_only_server_hangs_and_are_answered_again_when_it_goes_on(
    triton_runtime, tmp_path, measured
):
    with tiny_tritons(triton_runtime, tmp_path, 1) as (triton,):
        async with backend_on([triton]) as backend:
            in_flight = Load(backend)
            running = asyncio.create_task(in_flight.run(CALLS // 10))
            await asyncio.sleep(0.2)
            os.kill(triton.pid, signal.SIGSTOP)
            noticed_s = await until(lambda: backend.outage)
            await running
            assert "no sign of life" in backend.outage
            before = attempts_of([triton])
            refused = Load(backend)
            await refused.run(CALLS // 10)
            assert attempts_of([triton]) == before
            os.kill(triton.pid, signal.SIGCONT)
            recovered_s = await until(lambda: not backend.outage)
            assert (await backend.detect(IMAGE, timeout_s=20)).shape == (64, 64)
    measured(f"the only one hangs: noticed after {noticed_s:.2f} s, back {recovered_s:.2f} s after it went on")
    assert set(in_flight.outcomes) <= {"ok", "inference_timeout", "backend_unavailable"}
    assert set(refused.outcomes) == {"backend_unavailable"}


@pytest.mark.parametrize("how", ["fail", "exit"])
async def test_a_broken_model_on_the_only_server_is_an_outage_although_the_server_says_that_it_is_ready(
    triton_runtime, tmp_path, measured, how
):
    with tiny_tritons(triton_runtime, tmp_path, 1) as (triton,):
        async with backend_on([triton]) as backend:
            triton.break_model("text_recognition", how)
            noticed_s = await until(lambda: backend.outage)
            assert triton.process.is_ready()
            with pytest.raises(BackendUnavailable):
                await backend.detect(IMAGE, timeout_s=20)
    measured(f"the only one's recogniser begins to {how}: an outage after {noticed_s:.2f} s, without any request")
