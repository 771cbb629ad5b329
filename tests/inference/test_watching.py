"""What leads a server out of rotation, and back."""

import asyncio

import numpy as np
import pytest
from fake_triton import ModelFailure, blanks, listening
from grpc import StatusCode
from made_configs import recognition_config
from watched_tritons import (
    IMAGE,
    backend_on,
    blue,
    closely,
    eventually,
    failing,
    metric,
    small_triton,
    states,
)

from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout, Overloaded
from gateway.inference.triton import TritonBackend


def reason(backend, number=0):
    return backend.endpoints[number].reason


async def exiting():
    raise ModelFailure(StatusCode.UNAVAILABLE, "Server exiting")


async def restricted():
    raise ModelFailure(StatusCode.UNAVAILABLE, "This protocol is restricted, expecting header 'key'")


async def test_a_server_that_works_stays_in_rotation_and_is_probed_all_the_time():
    triton = small_triton()
    async with backend_on(triton) as backend:
        await eventually(lambda: len(triton.probes) > 6 and triton.beats > 3)
        assert states(backend) == ["serving"]
        assert (backend.outage, backend.servers, reason(backend)) == ("", 1, "")


async def test_a_server_that_gives_no_sign_of_life_is_silent_and_back_with_the_next_one():
    triton = small_triton()
    async with backend_on(triton, watch=closely(silent_ticks=5)) as backend:
        goes_on = await fall_silent(triton, backend)
        assert "no sign of life" in backend.outage
        triton.models |= {"text_detection": blue, "text_recognition": blanks}
        goes_on.set()
        await eventually(lambda: states(backend) == ["serving"])


async def fall_silent(triton, backend):
    """Have it answer nothing; the event that has it go on."""
    goes_on = asyncio.Event()
    triton.alive = triton.models["text_detection"] = triton.models["text_recognition"] = lambda *_: goes_on.wait()
    triton.models_probed = True
    await eventually(lambda: states(backend) == ["silent"])
    return goes_on


async def test_who_waits_for_a_silent_server_that_goes_on_finds_it_serving():
    triton = small_triton()
    async with backend_on(triton, watch=closely(silent_ticks=5, last_look_s=60)) as backend:
        goes_on = await fall_silent(triton, backend)
        waiting = asyncio.create_task(backend.wait_for_return())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        triton.models |= {"text_detection": blue, "text_recognition": blanks}
        goes_on.set()
        await waiting
        assert (backend.outage, states(backend)) == ("", ["serving"])


async def test_the_wait_for_a_server_that_stays_silent_is_a_moment():
    triton = small_triton()
    async with backend_on(triton, watch=closely(silent_ticks=5)) as backend:
        await fall_silent(triton, backend)
        await backend.wait_for_return()
        assert states(backend) == ["silent"]


async def test_a_server_whose_models_fail_is_not_waited_for():
    triton = small_triton()
    async with backend_on(triton, watch=closely(last_look_s=3600)) as backend:
        triton.models["text_detection"] = failing(StatusCode.INTERNAL, "broken")
        triton.models_probed = True
        await eventually(lambda: states(backend) == ["failing"])
        await backend.wait_for_return()
        assert states(backend) == ["failing"]


async def test_calls_under_way_at_a_server_that_falls_silent_end_at_once():
    triton = small_triton()
    async with backend_on(triton, watch=closely(silent_ticks=5, probe_interval_s=60)) as backend:
        triton.models["text_detection"] = triton.hang
        call = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await triton.busy.wait()
        triton.alive = triton.hang
        with pytest.raises(InferenceTimeout, match="no sign of life"):
            await call


async def test_a_busy_server_whose_models_take_long_is_not_silent():
    triton = small_triton()
    async with backend_on(triton, watch=closely(silent_ticks=50)) as backend:
        triton.models["text_detection"] = triton.hang
        call = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await triton.busy.wait()
        beats = triton.beats
        await eventually(lambda: triton.beats > beats + 60)
        assert states(backend) == ["serving"]
        call.cancel()


async def test_a_slow_network_is_no_silence_because_heartbeats_do_not_wait_for_each_other():
    triton = small_triton()

    async def late():
        await asyncio.sleep(0.5)

    async with backend_on(triton, watch=closely(silent_ticks=15, probe_interval_s=60)) as backend:
        triton.alive = late
        beats = triton.beats
        await eventually(lambda: triton.beats > beats + 60)
        assert states(backend) == ["serving"]


async def test_a_server_that_shuts_down_is_left_alone_until_it_is_back():
    triton = small_triton()
    async with backend_on(triton) as backend:
        triton.alive = exiting
        await eventually(lambda: states(backend) == ["not_ready"])
        assert "starting or shutting down (Server exiting)" in reason(backend)
        triton.alive = None
        await eventually(lambda: states(backend) == ["serving"])


async def test_a_server_that_is_gone_is_unreachable_and_found_when_it_is_back(unused_tcp_port):
    async with listening(small_triton(), unused_tcp_port) as address:
        backend = await TritonBackend.connect(address, watch=closely())
    await eventually(lambda: states(backend) == ["unreachable"] and backend.outage)
    with pytest.raises(BackendUnavailable, match="can't be reached"):
        await backend.refresh()
    async with listening(small_triton(), unused_tcp_port):
        await eventually(lambda: states(backend) == ["serving"])
        await backend.close()


async def test_a_server_that_closes_its_health_service_to_us_is_alive():
    triton = small_triton()
    triton.alive = restricted
    async with backend_on(triton, watch=closely(silent_ticks=50)) as backend:
        beats = triton.beats
        await eventually(lambda: triton.beats > beats + 60)
        assert states(backend) == ["serving"]


async def test_a_model_that_fails_for_ever_is_found_without_any_request():
    triton = small_triton()
    async with backend_on(triton) as backend:
        triton.models_probed = True
        triton.models["text_recognition"] = failing(StatusCode.INTERNAL, "index out of range")
        await eventually(lambda: states(backend) == ["failing"])
        assert reason(backend) == "text_recognition: the model failed (index out of range)"
        triton.models["text_recognition"] = blanks
        await eventually(lambda: states(backend) == ["serving"])


async def test_a_model_that_answers_nonsense_is_found_too():
    triton = small_triton()

    async def nonsense(request):
        return {"probability_map": np.zeros((1, 7, 7), np.uint8)}

    async with backend_on(triton) as backend:
        triton.models_probed = True
        triton.models["text_detection"] = nonsense
        await eventually(lambda: states(backend) == ["failing"])
        assert "[1, 7, 7]" in reason(backend)


async def test_a_request_that_fails_has_the_model_probed_at_once():
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_interval_s=60)) as backend:
        triton.models_probed = True
        triton.models["text_detection"] = failing(StatusCode.INTERNAL, "index out of range")
        with pytest.raises(InferenceFailed):
            await backend.detect(IMAGE, timeout_s=5)
        await eventually(lambda: states(backend) == ["failing"])


async def test_a_request_that_only_fails_itself_does_not_cost_the_server_its_place():
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_interval_s=60)) as backend:
        triton.models["text_detection"] = failing(StatusCode.INTERNAL, "index out of range")
        probes = len(triton.probes)
        with pytest.raises(InferenceFailed):
            await backend.detect(IMAGE, timeout_s=5)
        await eventually(lambda: len(triton.probes) > probes + 1)
        assert states(backend) == ["serving"]


async def test_one_probe_that_fails_is_made_again_before_it_is_believed():
    triton = small_triton()
    outcomes = iter([failing(StatusCode.INTERNAL, "a hiccup")])

    async def once(request):
        return await next(outcomes, blue)(request)

    async with backend_on(triton) as backend:
        triton.models_probed = True
        triton.models["text_detection"] = once
        probes = len(triton.probes)
        await eventually(lambda: len(triton.probes) > probes + 8)
        assert states(backend) == ["serving"]
        address = backend.endpoints[0].address
        assert metric("ocr_endpoint_probes_total", endpoint=address, outcome="inference_failed") == 1


@pytest.mark.parametrize(
    ("text", "code", "state"),
    [
        ("Stub process 'text_detection_0_0' is not healthy.", StatusCode.INTERNAL, "failing"),
        ("Request for unknown model: 'text_detection' has no available versions", StatusCode.NOT_FOUND, "not_ready"),
        ("Request for unknown model: 'text_detection' is not found", StatusCode.NOT_FOUND, "not_ready"),
        ("Server is stopping, scheduler for model has stopped accepting", StatusCode.UNAVAILABLE, "not_ready"),
        ("Stream removed (Socket closed)", StatusCode.UNAVAILABLE, "unreachable"),
        ("Stream removed (ping timeout)", StatusCode.UNAVAILABLE, "silent"),
    ],
)
async def test_a_failure_that_leaves_no_doubt_is_believed_at_once(text, code, state):
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_interval_s=60)) as backend:
        triton.models["text_detection"] = failing(code, text)
        triton.alive = triton.hang
        triton.models_probed = True
        seen = []
        with pytest.raises((BackendUnavailable, InferenceTimeout)):
            await backend.detect(IMAGE, timeout_s=5)
        seen.append(states(backend)[0])
        assert seen == [state]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (StatusCode.UNAVAILABLE, "Exceeds maximum queue size"),
        (StatusCode.RESOURCE_EXHAUSTED, "no more"),
    ],
)
async def test_overload_never_costs_a_server_its_place(code, text):
    triton = small_triton()
    async with backend_on(triton) as backend:
        triton.models_probed = True
        triton.models["text_detection"] = failing(code, text)
        probes = len(triton.probes)
        with pytest.raises(Overloaded):
            await backend.detect(IMAGE, timeout_s=5)
        await eventually(lambda: len(triton.probes) > probes + 8)
        assert states(backend) == ["serving"]


async def test_a_probe_that_waits_too_long_while_others_are_answered_proves_load():
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_timeout_s=0.1)) as backend:
        triton.sound_models["text_detection"] = triton.hang
        timeouts = {"endpoint": backend.endpoints[0].address, "outcome": "inference_timeout"}
        while metric("ocr_endpoint_probes_total", **timeouts) < 4:
            await backend.detect(IMAGE, timeout_s=5)
            await asyncio.sleep(0.01)
        assert states(backend) == ["serving"]


async def test_a_probe_that_waits_too_long_while_nobody_is_answered_finds_a_model_that_hangs():
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_timeout_s=0.1)) as backend:
        triton.sound_models["text_detection"] = triton.hang
        await eventually(lambda: states(backend) == ["failing"])
        assert "no answer in time" in reason(backend)


async def test_a_call_that_began_before_the_server_came_back_says_nothing_of_it_now():
    triton = small_triton()
    async with backend_on(triton) as backend:
        may_fail = asyncio.Event()

        async def late_failure(request):
            triton.busy.set()
            await may_fail.wait()
            raise ModelFailure(StatusCode.INTERNAL, "Stub process 'text_detection_0_0' is not healthy.")

        triton.models["text_detection"] = late_failure
        call = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await triton.busy.wait()
        triton.alive = exiting
        await eventually(lambda: states(backend) == ["not_ready"])
        triton.alive = None
        await eventually(lambda: states(backend) == ["serving"])
        may_fail.set()
        with pytest.raises(BackendUnavailable, match="process has died"):
            await call
        assert states(backend) == ["serving"]


async def test_models_that_are_exchanged_for_unfit_ones_put_the_server_out_of_rotation():
    triton = small_triton()
    async with backend_on(triton, watch=closely(probe_interval_s=60)) as backend:
        triton.version = "2"
        triton.configs["text_recognition"] = recognition_config(charset="a\nb")
        with pytest.raises(BackendUnavailable, match="does not fit"):
            await backend.detect(IMAGE, timeout_s=5)
        assert "the last of 3 classes is 'b'" in backend.outage
        triton.configs["text_recognition"] = recognition_config()
        await eventually(lambda: states(backend) == ["serving"])


async def test_the_state_of_a_server_is_a_metric_until_it_is_let_go():
    triton = small_triton()
    async with backend_on(triton) as backend:
        address = backend.endpoints[0].address
        assert metric("ocr_endpoint_state", endpoint=address, state="serving") == 1
        assert metric("ocr_endpoint_state", endpoint=address, state="silent") == 0
        triton.alive = exiting
        await eventually(lambda: metric("ocr_endpoint_state", endpoint=address, state="not_ready") == 1)
        assert metric("ocr_endpoint_state", endpoint=address, state="serving") == 0
    assert metric("ocr_endpoint_state", endpoint=address, state="not_ready") == 0


async def test_coming_and_going_are_logged_once_each(caplog):
    triton = small_triton()
    with caplog.at_level("INFO", "gateway.inference.endpoints"):
        async with backend_on(triton) as backend:
            triton.alive = exiting
            await eventually(lambda: states(backend) == ["not_ready"])
            beats = triton.beats
            await eventually(lambda: triton.beats > beats + 3)
            triton.alive = None
            await eventually(lambda: states(backend) == ["serving"])
    address = backend.endpoints[0].address
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == said[-1] == f"endpoint {address} is in rotation"
    assert len([line for line in said if "not_ready" in line]) == 1
