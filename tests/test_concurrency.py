import asyncio
import os
import sys
import threading
import time

import pytest

from gateway.concurrency import NICENESS, CpuPool, Slots, gather_all
from gateway.deadline import Deadline
from gateway.errors import DeadlineExceeded, Overloaded


async def value(result, delay_s=0.0):
    await asyncio.sleep(delay_s)
    return result


@pytest.mark.parametrize("values", [[], [1], [3, 1, 2]])
async def test_results_come_in_the_order_of_the_awaitables(values):
    assert await gather_all(value(v, delay_s=v / 1000) for v in values) == values


async def test_the_first_failure_is_raised_with_its_cause_and_the_rest_is_cancelled():
    cancelled = asyncio.Event()

    async def slow():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def failing():
        await asyncio.sleep(0)
        raise ValueError("outer") from KeyError("inner")

    with pytest.raises(ValueError, match="outer") as raised:
        await gather_all([slow(), failing()])
    assert isinstance(raised.value.__cause__, KeyError)
    assert cancelled.is_set()


async def test_cancelling_the_owner_cancels_every_task():
    ended = []

    async def slow(name):
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)

    owner = asyncio.ensure_future(gather_all([slow("a"), slow("b")]))
    await asyncio.sleep(0.01)
    owner.cancel()
    with pytest.raises(asyncio.CancelledError):
        await owner
    assert sorted(ended) == ["a", "b"]


async def test_the_pool_runs_off_the_event_loop_and_counts_what_is_busy():
    release = threading.Event()
    with CpuPool(threads=1) as pool:
        task = asyncio.ensure_future(pool.run(release.wait, 10))
        await asyncio.sleep(0)
        assert pool.busy == 1
        release.set()
        assert await task
        assert pool.busy == 0


@pytest.mark.parametrize(("from_client", "error"), [(False, Overloaded), (True, DeadlineExceeded)])
async def test_work_whose_deadline_has_passed_is_not_begun(from_client, error):
    done = []
    with CpuPool(threads=1) as pool, pytest.raises(error):
        await pool.run(done.append, 1, deadline=Deadline.after(0, from_client=from_client))
    assert done == []


async def test_work_that_waits_for_a_thread_until_its_deadline_is_never_begun():
    release, done = threading.Event(), []
    with CpuPool(threads=1) as pool:
        busy = asyncio.ensure_future(pool.run(release.wait, 10))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await pool.run(done.append, 1, deadline=Deadline.after(0.02))
        release.set()
        await busy
        await pool.run(done.append, 2)
    assert done == [2]


async def test_work_is_not_begun_after_its_deadline_even_if_the_event_loop_is_late():
    release, done = threading.Event(), []
    with CpuPool(threads=1) as pool:
        busy = asyncio.ensure_future(pool.run(release.wait, 10))
        late = asyncio.ensure_future(pool.run(done.append, 1, deadline=Deadline.after(0.02)))
        await asyncio.sleep(0)
        time.sleep(0.03)  # noqa: ASYNC251 - the loop is blocked on purpose
        release.set()
        time.sleep(0.03)  # noqa: ASYNC251 - while the thread is free
        with pytest.raises(Overloaded):
            await late
        await busy
    assert done == []


async def test_work_that_was_cancelled_while_it_waited_for_a_thread_is_never_begun():
    release, done = threading.Event(), []
    with CpuPool(threads=1) as pool:
        busy = asyncio.ensure_future(pool.run(release.wait, 10))
        gone = asyncio.ensure_future(pool.run(done.append, 1))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        release.set()
        await busy
        await pool.run(done.append, 2)
    assert done == [2]


async def take(slots, taken, name):
    await slots.acquire()
    taken.append(name)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_slots_go_to_whoever_has_waited_longest():
    taken, slots = [], Slots(lambda: 2)
    tasks = [asyncio.create_task(take(slots, taken, name)) for name in "abcd"]
    await settle()
    assert taken == ["a", "b"]
    slots.release()
    await settle()
    assert taken == ["a", "b", "c"]
    slots.release()
    await asyncio.gather(*tasks)
    assert taken == ["a", "b", "c", "d"]


async def test_more_slots_are_given_out_when_there_are_more_and_none_while_too_many_are_taken():
    count = 1
    taken, slots = [], Slots(lambda: count)
    tasks = [asyncio.create_task(take(slots, taken, name)) for name in "abc"]
    await settle()
    assert taken == ["a"]
    count = 3
    slots.release()
    await asyncio.gather(*tasks)
    count = 1
    late = asyncio.create_task(take(slots, taken, "d"))
    slots.release()
    await settle()
    assert taken == ["a", "b", "c"]
    slots.release()
    await late


async def test_whoever_stops_waiting_takes_no_slot():
    taken, slots = [], Slots(lambda: 1)
    await slots.acquire()
    impatient, patient = (asyncio.create_task(take(slots, taken, name)) for name in "ab")
    await settle()
    impatient.cancel()
    slots.release()
    await patient
    assert taken == ["b"]


async def test_a_slot_given_to_someone_who_was_cancelled_in_that_moment_is_passed_on():
    taken, slots = [], Slots(lambda: 1)
    await slots.acquire()
    unlucky, next_one = (asyncio.create_task(take(slots, taken, name)) for name in "ab")
    await settle()
    slots.release()
    unlucky.cancel()
    await next_one
    assert taken == ["b"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no niceness of their own")
async def test_what_computes_leaves_the_core_to_the_event_loop():
    with CpuPool(1) as pool:
        pools = await pool.run(os.getpriority, os.PRIO_PROCESS, 0)
    assert pools == os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
