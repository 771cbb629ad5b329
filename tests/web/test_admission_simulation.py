"""What admission makes of floods, on a simulated clock: more than a service can do must not cost it what it can do."""

import pytest
from simulated_load import LIMITS, Service, Stream

from gateway.web.tickets import Priority

CPU_PAGE_S = 1.0
CPU_SPEED = 2.0
"""Two pages a second: a small machine, whose requests take long."""

GPU_PAGE_S = 0.04
GPU_SPEED = 4.0
"""A hundred pages a second."""


def in_time(outcome, seconds, *, capacity):
    """Answers in time, as a share of what the service could have answered."""
    return len(outcome.answered) / (seconds * capacity)


@pytest.mark.parametrize("times", [2, 5, 10])
def test_on_a_slow_machine_a_flood_leaves_the_goodput_at_its_peak(times):
    [outcome] = Service(speed=CPU_SPEED).run(Stream(CPU_SPEED * times, CPU_PAGE_S, until_s=200))
    assert in_time(outcome, 200, capacity=2) > 0.95
    assert outcome.late == 0


@pytest.mark.parametrize("times", [2, 5, 10])
def test_on_a_fast_machine_it_also_leaves_the_latency_low(times):
    def stream(per_s):
        return Stream(per_s, GPU_PAGE_S, timeout_s=1.0, until_s=10)

    [calm] = Service(speed=GPU_SPEED).run(stream(90))
    [flood] = Service(speed=GPU_SPEED).run(stream(100 * times))
    assert in_time(flood, 10, capacity=100) > 0.95
    assert flood.late == 0
    assert flood.latency(0.99) < 2 * calm.latency(0.99)


def test_without_the_pace_a_flood_of_slow_pages_would_make_every_answer_late():
    """Why there are fewer slots when pages are slow: here each takes a second and the service does one at a time."""
    flood = Stream(10, 1.0, timeout_s=10.0, until_s=100)
    [outcome] = Service(speed=1).run(flood)
    unpaced = Service(speed=1)
    unpaced.gate._pace.finished_within = lambda *_: float("inf")
    [without] = unpaced.run(flood)
    assert in_time(outcome, 100, capacity=1) > 0.8
    assert in_time(without, 100, capacity=1) < 0.1


def test_nobody_waits_longer_than_they_should_to_be_refused():
    [outcome] = Service(speed=GPU_SPEED).run(Stream(1000, GPU_PAGE_S, until_s=3))
    assert max(outcome.refused) <= 0.15 + 1e-9
    assert sorted(outcome.refused)[int(0.95 * len(outcome.refused))] < 0.02


@pytest.mark.parametrize("timeout_s", [0.1, 0.5])
def test_nor_longer_than_a_fifth_of_their_time(timeout_s):
    [outcome] = Service(speed=GPU_SPEED).run(Stream(1000, GPU_PAGE_S, timeout_s=timeout_s, until_s=3))
    assert max(outcome.refused) <= timeout_s / 5 + 1e-9


@pytest.mark.parametrize("times", [2, 12])
def test_interactive_requests_hardly_notice_a_flood_of_batch(times):
    interactive = Stream(70, GPU_PAGE_S, until_s=15)
    batch = Stream(100 * times, GPU_PAGE_S, priority=Priority.BATCH, until_s=15)
    [first, second] = Service(speed=GPU_SPEED).run(interactive, batch)
    assert first.success >= 0.995
    assert in_time(second, 15, capacity=100) > 0.25


def test_batch_gets_everything_while_nobody_else_is_there():
    [outcome] = Service(speed=GPU_SPEED).run(Stream(200, GPU_PAGE_S, priority=Priority.BATCH, until_s=10))
    assert in_time(outcome, 10, capacity=100) > 0.95


def test_huge_images_do_not_keep_small_ones_out():
    small = Stream(20, GPU_PAGE_S, until_s=60)
    huge = Stream(1, 50 * GPU_PAGE_S, pixels=50_000_000, until_s=60)
    [alone] = Service(speed=GPU_SPEED).run(small)
    service = Service(speed=GPU_SPEED)
    [beside, large] = service.run(small, huge)
    assert beside.success >= 0.99
    assert beside.latency(0.99) < 2 * alone.latency(0.99)
    assert large.success > 0.5
    assert service.most_pixels <= LIMITS.pixels


def test_after_a_flood_everything_is_as_before():
    calm = Stream(70, GPU_PAGE_S, until_s=20)
    flood = Stream(1000, GPU_PAGE_S, since_s=5, until_s=10)
    service = Service(speed=GPU_SPEED)
    [outcome, _] = service.run(calm, flood)
    recovered = [at for at in outcome.answered_at if at > 12]
    assert len(recovered) > 0.95 * 70 * 8
    assert (service.gate.slots_in_use, service.gate.pixels_in_use) == (0, 0)
