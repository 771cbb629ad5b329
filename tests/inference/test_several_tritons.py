"""Calls over several servers: shared out, tried again elsewhere, and not too often."""

import asyncio

import numpy as np
import pytest
from fake_triton import listening
from grpc import StatusCode
from made_configs import recognition_config
from watched_tritons import IMAGE, NEVER, backend_on, blue, closely, eventually, failing, metric, small_triton, states

from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout, OutOfMemory, Overloaded
from gateway.inference.addresses import Address
from gateway.inference.fleet import Fleet
from gateway.inference.retries import RetryOptions
from gateway.inference.served_models import ModelNames
from gateway.inference.triton import TritonBackend

DRAINING = "Request for unknown model: 'text_detection' has no available versions"
NO_PROBES = closely(probe_interval_s=60)


def counts(*tritons):
    return [len(triton.requests) for triton in tritons]


async def test_calls_one_after_the_other_are_shared_out_evenly():
    tritons = small_triton(), small_triton(), small_triton()
    async with backend_on(*tritons, watch=NO_PROBES) as backend:
        assert backend.servers == 3
        for _ in range(9):
            await backend.detect(IMAGE, timeout_s=5)
    assert counts(*tritons) == [3, 3, 3]


async def test_a_slow_server_gets_fewer_calls():
    slow, quick = small_triton(), small_triton()
    async with backend_on(slow, quick, watch=NO_PROBES) as backend:
        slow.models["text_detection"] = slow.hang
        call = asyncio.create_task(backend.detect(IMAGE, timeout_s=60))
        await slow.busy.wait()
        for _ in range(5):
            await backend.detect(IMAGE, timeout_s=5)
        assert counts(slow, quick) == [1, 5]
        call.cancel()


async def test_a_server_that_is_quiet_is_called_after_others():
    quiet, sound = small_triton(), small_triton()
    async with backend_on(quiet, sound, watch=closely(quiet_ticks=25, probe_interval_s=60)) as backend:
        quiet.alive = quiet.hang
        endpoint = backend._rotation.endpoints[0]
        await eventually(lambda: endpoint.quiet)
        quiet.models["text_detection"] = quiet.hang
        for _ in range(4):
            await backend.detect(IMAGE, timeout_s=60)
        assert states(backend) == ["serving"] * 2
    assert counts(quiet, sound) == [0, 4]


async def test_a_server_that_has_just_refused_a_call_is_called_after_others():
    full, sound = small_triton(), small_triton()
    async with backend_on(full, sound, watch=NO_PROBES) as backend:
        full.models["text_detection"] = failing(StatusCode.UNAVAILABLE, "Exceeds maximum queue size")
        for _ in range(4):
            await backend.detect(IMAGE, timeout_s=5)
    assert counts(full, sound) == [1, 4]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (StatusCode.INTERNAL, "index out of range"),
        (StatusCode.INTERNAL, "Stub process 'text_detection_0_0' is not healthy."),
        (StatusCode.NOT_FOUND, DRAINING),
        (StatusCode.UNAVAILABLE, "Server exiting"),
        (StatusCode.UNAVAILABLE, "Stream removed (Socket closed)"),
        (StatusCode.UNAVAILABLE, "Stream removed (ping timeout)"),
        (StatusCode.UNAVAILABLE, "Exceeds maximum queue size"),
    ],
)
async def test_what_one_server_fails_another_answers(code, text):
    sick, sound = small_triton(), small_triton()
    async with backend_on(sick, sound, watch=NO_PROBES) as backend:
        sick.models["text_detection"] = failing(code, text)
        for _ in range(4):
            assert (await backend.detect(IMAGE, timeout_s=5)).shape == (64, 64)
    assert len(sound.requests) == 4
    assert len(sick.requests) > 0


async def test_calls_at_a_server_that_falls_silent_are_answered_by_another():
    silent, sound = small_triton(), small_triton()
    async with backend_on(silent, sound, watch=closely(silent_ticks=10)) as backend:
        silent.models["text_detection"] = silent.hang
        calls = [asyncio.create_task(backend.detect(IMAGE, timeout_s=60)) for _ in range(2)]
        await silent.busy.wait()
        silent.alive = silent.hang
        silent.models_probed = True
        silent.models["text_recognition"] = silent.hang
        assert [(await call).shape for call in calls] == [(64, 64)] * 2
        assert sorted(states(backend)) == ["serving", "silent"]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (StatusCode.INTERNAL, "out of memory", OutOfMemory),
        (StatusCode.INTERNAL, "index out of range", InferenceFailed),
        (StatusCode.UNAVAILABLE, "Exceeds maximum queue size", Overloaded),
    ],
)
async def test_no_server_is_asked_twice_for_one_call(code, text, expected):
    tritons = small_triton(), small_triton()
    async with backend_on(*tritons, watch=NO_PROBES) as backend:
        for triton in tritons:
            triton.models["text_detection"] = failing(code, text)
        with pytest.raises(expected):
            await backend.detect(IMAGE, timeout_s=5)
    assert max(counts(*tritons)) == 1


async def test_too_little_memory_is_not_tried_elsewhere():
    tritons = small_triton(), small_triton()
    async with backend_on(*tritons, watch=NO_PROBES) as backend:
        for triton in tritons:
            triton.models["text_detection"] = failing(StatusCode.INTERNAL, "out of memory")
        with pytest.raises(OutOfMemory):
            await backend.detect(IMAGE, timeout_s=5)
    assert sum(counts(*tritons)) == 1


async def test_a_call_is_tried_three_times_at_most():
    tritons = [small_triton() for _ in range(4)]
    async with backend_on(*tritons, watch=NO_PROBES) as backend:
        for triton in tritons:
            triton.models["text_detection"] = failing(StatusCode.INTERNAL, "index out of range")
        with pytest.raises(InferenceFailed):
            await backend.detect(IMAGE, timeout_s=5)
    assert sum(counts(*tritons)) == 3


async def test_a_deadline_that_is_over_is_not_tried_again():
    tritons = small_triton(), small_triton()
    async with backend_on(*tritons, watch=NO_PROBES) as backend:
        for triton in tritons:
            triton.models["text_detection"] = triton.hang
        with pytest.raises(InferenceTimeout, match="no answer in time"):
            await backend.detect(IMAGE, timeout_s=0.2)
    assert sum(counts(*tritons)) == 1


@pytest.mark.parametrize("share_failing", [0.01, 0.1, 0.5, 1.0])
async def test_retries_stay_within_a_tenth_of_the_calls_whatever_the_share_of_failures(share_failing):
    calls, random = 400, np.random.default_rng(7)
    tritons = small_triton(), small_triton()
    sound = tritons[0].models["text_detection"]

    async def moody(request):
        return await (failing(StatusCode.INTERNAL, "a mood") if random.random() < share_failing else sound)(request)

    async with backend_on(*tritons, watch=NO_PROBES, retries=RetryOptions(reserve=4)) as backend:
        for triton in tritons:
            triton.models["text_detection"] = moody
        for _ in range(calls):
            await asyncio.gather(backend.detect(IMAGE, timeout_s=5), return_exceptions=True)
    assert sum(counts(*tritons)) <= 1.1 * calls


async def test_the_last_server_is_called_until_two_connections_in_a_row_have_broken():
    triton = small_triton()
    broken = failing(StatusCode.UNAVAILABLE, "Stream removed (Socket closed)")
    async with backend_on(triton, watch=NO_PROBES) as backend:
        triton.sound_models = dict.fromkeys(triton.sound_models, triton.hang)  # so that no probe leads it back
        for model, outage in ((broken, False), (blue, False), (broken, False), (broken, True)):
            triton.models["text_detection"] = model
            await asyncio.gather(backend.detect(IMAGE, timeout_s=5), return_exceptions=True)
            assert bool(backend.outage) is outage
    assert len(triton.requests) == 4


async def test_while_no_server_is_there_calls_fail_at_once_and_none_is_made():
    triton = small_triton()
    async with backend_on(triton, watch=NO_PROBES) as backend:
        triton.alive = lambda: failing(StatusCode.UNAVAILABLE, "Server exiting")(None)
        await eventually(lambda: states(backend) == ["not_ready"])
        with pytest.raises(BackendUnavailable, match="no inference server is there for it"):
            await backend.detect(IMAGE, timeout_s=60)
        assert backend.contract.model_set == "tiny"
    assert triton.requests == []


async def test_a_server_with_another_charset_gets_no_calls_and_the_reason_is_told():
    ours, theirs = small_triton(), small_triton(charset="b\na\n ")
    async with backend_on(ours, theirs, watch=NO_PROBES) as backend:
        kept_out = next(one for one in backend.endpoints if one.state == "differing")
        in_use, other = (ours, theirs) if backend.contract.recognition.charset[1] == "a" else (theirs, ours)
        for _ in range(4):
            await backend.detect(IMAGE, timeout_s=5)
    assert kept_out.reason.startswith("class 1: ")
    assert counts(in_use, other) == [4, 0]


async def test_an_answer_of_a_server_whose_charset_was_exchanged_is_asked_for_elsewhere():
    exchanged, same = small_triton(), small_triton()
    async with backend_on(exchanged, same, watch=NO_PROBES) as backend:
        exchanged.version = "2"
        exchanged.configs["text_recognition"] = recognition_config(charset="b\na\n ")
        for _ in range(4):
            await backend.detect(IMAGE, timeout_s=5)
        assert sorted(states(backend)) == ["differing", "serving"]
    assert len(same.requests) == 4


async def test_attempts_and_retries_are_counted():
    sick, sound = small_triton(), small_triton()
    async with backend_on(sick, sound, watch=NO_PROBES) as backend:
        first, second = (endpoint.address for endpoint in backend.endpoints)
        before = metric("ocr_backend_retries_total", code="inference_failed")
        sick.models["text_detection"] = failing(StatusCode.INTERNAL, "index out of range")
        await backend.detect(IMAGE, timeout_s=5)
        assert metric("ocr_endpoint_calls_total", endpoint=first, outcome="inference_failed") == 1
        assert metric("ocr_endpoint_calls_total", endpoint=second, outcome="ok") == 1
        assert metric("ocr_backend_retries_total", code="inference_failed") == before + 1
    assert metric("ocr_endpoint_calls_total", endpoint=second, outcome="ok") == 0


async def test_one_server_of_two_is_enough_to_start(unused_tcp_port):
    async with listening(small_triton()) as address:
        backend = await TritonBackend.connect(f"127.0.0.1:{unused_tcp_port},{address}", watch=closely())
        assert backend.servers == 1
        async with listening(small_triton(), unused_tcp_port):
            await eventually(lambda: backend.servers == 2)
        await backend.close()


class Names:
    """A DNS that a test writes."""

    def __init__(self, *addresses):
        self.addresses = list(addresses)

    async def look_up(self, address):
        if not self.addresses:
            raise OSError("no such name")
        return self.addresses


async def test_the_servers_behind_a_name_come_and_go_with_it():
    first, second = small_triton(), small_triton()
    async with listening(first) as first_address, listening(second) as second_address:
        names = Names(first_address)
        name = Address("triton-headless", 8001, is_name=True)
        fleet = Fleet([name], ModelNames(), closely(silent_ticks=NEVER), timeout_s=5, look_up=names.look_up)
        await fleet.refresh()
        assert [one.address for one in fleet.rotation.serving] == [first_address]
        names.addresses = [first_address, second_address]
        await eventually(lambda: len(fleet.rotation.serving) == 2)
        names.addresses = [second_address]
        await eventually(lambda: [one.address for one in fleet.rotation.endpoints] == [second_address])
        names.addresses = []
        beats = second.beats
        await eventually(lambda: second.beats > beats + 5)
        assert [one.address for one in fleet.rotation.serving] == [second_address]
        await fleet.close()


async def test_a_name_without_addresses_is_told_and_tried_again():
    triton = small_triton()
    async with listening(triton) as address:
        names = Names()
        name = Address("triton-headless", 8001, is_name=True)
        fleet = Fleet([name], ModelNames(), closely(), timeout_s=5, look_up=names.look_up)
        with pytest.raises(BackendUnavailable, match="no address of an inference server is known"):
            await fleet.refresh()
        names.addresses = [address]
        await eventually(lambda: len(fleet.rotation.serving) == 1)
        await fleet.close()


async def test_the_models_of_each_server_and_its_heartbeats_are_shown_and_forgotten_with_it():
    async with backend_on(small_triton(), watch=closely()) as backend:
        (endpoint,) = backend.endpoints
        place = {"endpoint": endpoint.address}
        assert metric("ocr_endpoint_model_info", **place, model="text_detection", version="1") == 1
        await eventually(lambda: metric("ocr_endpoint_heartbeat_seconds_count", **place) > 0)
    assert not metric("ocr_endpoint_model_info", **place, model="text_detection", version="1")
