import asyncio

import numpy as np
import pytest
from prometheus_client import REGISTRY

from gateway.deadline import Deadline
from gateway.errors import InferenceFailed, InferenceTimeout
from gateway.inference.detector import Detector

MAP = np.zeros((4, 4), np.uint8)


class HeldBackend:
    """Answers each call when the test says so; a page is told by its first pixel."""

    def __init__(self):
        self.servers = 1
        self.called = []
        self.timeouts = []
        self.answers = {}

    async def detect(self, image, *, timeout_s):
        page = int(image[0, 0, 0])
        self.called.append(page)
        self.timeouts.append(timeout_s)
        self.answers[page] = asyncio.get_running_loop().create_future()
        return await self.answers[page]


def start(detector, page, timeout_s=60.0):
    tensor = np.full((4, 4, 3), page, np.uint8)
    return asyncio.create_task(detector.detect(tensor, deadline=Deadline.after(timeout_s)))


async def settle():
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def backend():
    return HeldBackend()


async def test_so_many_pages_are_detected_at_once_and_the_others_follow_in_order(backend):
    detector = Detector(backend, calls_in_flight=2)
    tasks = [start(detector, page) for page in range(4)]
    await settle()
    assert backend.called == [0, 1]
    backend.answers[1].set_result(MAP)
    await settle()
    assert backend.called == [0, 1, 2]
    assert await tasks[1] is MAP
    backend.answers[0].set_result(MAP)
    await settle()
    assert backend.called == [0, 1, 2, 3]
    for page in (2, 3):
        backend.answers[page].set_result(MAP)
    await asyncio.gather(*tasks)


async def test_the_bound_counts_for_each_server_and_follows_their_number(backend):
    backend.servers = 2
    detector = Detector(backend, calls_in_flight=1)
    tasks = [start(detector, page) for page in range(4)]
    await settle()
    assert backend.called == [0, 1]
    backend.servers = 1
    backend.answers[0].set_result(MAP)
    await settle()
    assert backend.called == [0, 1]
    for page in (1, 2, 3):
        backend.answers[page].set_result(MAP)
        await settle()
    await asyncio.gather(*tasks)


async def test_a_page_whose_time_is_up_before_its_turn_is_never_sent(backend):
    detector = Detector(backend, calls_in_flight=1)
    first, late = start(detector, 0), start(detector, 1, timeout_s=0.02)
    with pytest.raises(InferenceTimeout, match="was not sent"):
        await late
    backend.answers[0].set_result(MAP)
    await first
    await settle()
    assert backend.called == [0]


async def test_a_page_without_time_is_not_sent_although_a_call_is_free(backend):
    detector = Detector(backend, calls_in_flight=1)
    with pytest.raises(InferenceTimeout, match="was not sent"):
        await start(detector, 0, timeout_s=0)
    assert backend.called == []


async def test_a_call_that_nobody_waits_for_is_cancelled_and_counted(backend):
    before = REGISTRY.get_sample_value("ocr_backend_calls_cancelled_total")
    detector = Detector(backend, calls_in_flight=1)
    gone, waiting = start(detector, 0), start(detector, 1)
    await settle()
    waiting.cancel()
    gone.cancel()
    await asyncio.wait([gone, waiting])
    assert backend.answers[0].cancelled()
    assert REGISTRY.get_sample_value("ocr_backend_calls_cancelled_total") == before + 1


@pytest.mark.parametrize("ending", ["fails", "is cancelled"])
async def test_a_call_that_ends_badly_makes_room_for_the_next(backend, ending):
    detector = Detector(backend, calls_in_flight=1)
    first, second = start(detector, 0), start(detector, 1)
    await settle()
    if ending == "fails":
        backend.answers[0].set_exception(InferenceFailed("no"))
    else:
        first.cancel()
    with pytest.raises((InferenceFailed, asyncio.CancelledError)):
        await first
    await settle()
    backend.answers[1].set_result(MAP)
    assert await second is MAP


async def test_a_waiting_page_whose_client_leaves_takes_no_turn(backend):
    detector = Detector(backend, calls_in_flight=1)
    first, left, last = (start(detector, page) for page in range(3))
    await settle()
    left.cancel()
    backend.answers[0].set_result(MAP)
    await first
    await settle()
    assert backend.called == [0, 2]
    backend.answers[2].set_result(MAP)
    await last


async def test_a_call_may_take_what_the_wait_has_left_of_the_deadline(backend):
    detector = Detector(backend, calls_in_flight=1)
    first, second = start(detector, 0), start(detector, 1, timeout_s=60)
    await asyncio.sleep(0.05)
    backend.answers[0].set_result(MAP)
    await first
    await settle()
    assert 50 < backend.timeouts[1] <= 60 - 0.05
    backend.answers[1].set_result(MAP)
    await second


async def test_waiting_for_a_free_call_is_timed_whoever_waits():
    def waited():
        return REGISTRY.get_sample_value("ocr_detection_wait_seconds_count")

    backend, before = HeldBackend(), waited()
    detector = Detector(backend, calls_in_flight=1)
    first, late = start(detector, 1), start(detector, 2, timeout_s=0.02)
    with pytest.raises(InferenceTimeout):
        await late
    backend.answers[1].set_result(MAP)
    await first
    assert waited() == before + 2
