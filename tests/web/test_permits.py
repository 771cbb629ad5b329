import asyncio

import pytest
from prometheus_client import REGISTRY

from gateway.errors import Overloaded
from gateway.web.gate import Gate, GateLimits
from gateway.web.permits import PATIENCE_S, Permits
from gateway.web.tickets import Priority

SMALL = 1_000_000
HUGE = 50_000_000


class Service:
    """Permits on a gate of its own."""

    def __init__(self, **limits):
        chosen = {"slots": 1, "waiting": 10, "wait_s": 0.05, "pixels": 4 * HUGE, "parked_bytes": 1000} | limits
        self.gate = Gate(GateLimits(**chosen))
        self.permits = Permits(self.gate)

    async def acquire(self, pixels=SMALL, timeout_s=30.0):
        return await self.permits.acquire(pixels=pixels, priority=Priority.INTERACTIVE, timeout_s=timeout_s)

    @property
    def held(self):
        gate = self.gate
        return gate.slots_in_use, gate.pixels_in_use, gate.parked, gate.settling, gate.waiting(Priority.INTERACTIVE)


def refused(reason):
    return REGISTRY.get_sample_value("ocr_admission_refused_total", {"reason": reason}) or 0.0


def receiving(*messages):
    waiting = list(messages)

    async def receive():
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    return receive


def chunk(body, *, more=True):
    return {"type": "http.request", "body": body, "more_body": more}


NOTHING = (0, 0, 0, 0, 0)


async def test_a_permit_gives_back_what_it_held():
    service = Service()
    permit = await service.acquire()
    assert service.held == (1, SMALL, 0, 0, 0)
    permit.release(done=True)
    assert service.held == NOTHING


async def test_whoever_waits_is_woken_when_a_permit_is_released():
    service = Service()
    first = await service.acquire()
    second = asyncio.create_task(service.acquire())
    await asyncio.sleep(0.01)
    assert not second.done()
    first.release(done=True)
    (await second).release(done=True)
    assert service.held == NOTHING


async def test_whoever_waits_too_long_is_refused_and_counted():
    service, before = Service(), refused("waited")
    permit = await service.acquire()
    with pytest.raises(Overloaded, match=r"no room within \d+ ms"):
        await service.acquire()
    assert refused("waited") == before + 1
    permit.release(done=True)
    assert service.held == NOTHING


async def test_a_full_line_is_counted():
    service, before = Service(waiting=0), refused("line_full")
    permit = await service.acquire()
    with pytest.raises(Overloaded):
        await service.acquire()
    assert refused("line_full") == before + 1
    permit.release(done=True)


async def test_a_wait_that_is_cancelled_leaves_the_line():
    service = Service()
    permit = await service.acquire()
    waiting = asyncio.create_task(service.acquire())
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert service.held == (1, SMALL, 0, 0, 0)
    permit.release(done=False)
    assert service.held == NOTHING


async def test_one_that_is_let_in_at_the_moment_it_is_cancelled_keeps_nothing():
    service = Service()
    permit = await service.acquire()
    waiting = asyncio.create_task(service.acquire())
    await asyncio.sleep(0.01)
    permit.release(done=True)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert service.held == NOTHING


async def test_settling_waits_for_pixels_and_gets_them():
    service = Service(slots=10)
    large = [await service.acquire(HUGE) for _ in range(3)]
    growing = await service.acquire(SMALL)
    settling = asyncio.create_task(growing.settle(HUGE))
    await asyncio.sleep(0.01)
    assert not settling.done()
    large[0].release(done=True)
    await settling
    assert service.held == (3, 3 * HUGE, 0, 0, 0)
    for permit in (*large, growing):
        permit.release(done=True)
    assert service.held == NOTHING


async def test_settling_that_takes_too_long_is_refused_counted_and_keeps_nothing():
    service, before = Service(slots=10), refused("settling")
    large = [await service.acquire(HUGE) for _ in range(3)]
    growing = await service.acquire(SMALL, timeout_s=0.1)
    with pytest.raises(Overloaded, match=r"no room within \d+ ms"):
        await growing.settle(HUGE)
    assert refused("settling") == before + 1
    for permit in (*large, growing):
        permit.release(done=False)
    assert service.held == NOTHING


async def test_an_upload_that_is_quick_is_not_parked():
    service = Service()
    permit = await service.acquire()
    await permit.counting(receiving(chunk(b"x", more=False)))()
    await asyncio.sleep(PATIENCE_S + 0.05)
    assert service.held == (1, SMALL, 0, 0, 0)
    permit.release(done=True)


async def test_an_upload_that_takes_long_is_parked_until_it_is_complete():
    service = Service()
    slow = await service.acquire()
    receive = slow.counting(receiving(chunk(b"x"), chunk(b"y", more=False)))
    await receive()
    await asyncio.sleep(PATIENCE_S + 0.05)
    assert service.held == (0, 0, 1, 0, 0)
    other = await service.acquire()
    await receive()
    settling = asyncio.create_task(slow.settle(SMALL))
    await asyncio.sleep(0.01)
    assert not settling.done()
    other.release(done=True)
    await settling
    assert service.held == (1, SMALL, 0, 0, 0)
    slow.release(done=True)
    assert service.held == NOTHING


async def test_slow_uploads_that_hold_too_many_bytes_are_refused_and_counted():
    service, before = Service(parked_bytes=10), refused("slow_uploads")
    slow = await service.acquire()
    receive = slow.counting(receiving(chunk(b"x" * 10), chunk(b"y")))
    await receive()
    await asyncio.sleep(PATIENCE_S + 0.05)
    with pytest.raises(Overloaded, match="upload was slow"):
        await receive()
    assert refused("slow_uploads") == before + 1
    slow.release(done=False)
    assert service.held == NOTHING
