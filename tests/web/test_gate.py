import pytest

from gateway.errors import Overloaded
from gateway.web.gate import Gate, GateLimits
from gateway.web.tickets import Priority

SMALL = 1_000_000
HUGE = 50_000_000


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def gate_of(*, slots=2, waiting=2, wait_s=0.15, pixels=200_000_000, parked_bytes=1000, clock=None):
    return Gate(GateLimits(slots, waiting, wait_s, pixels, parked_bytes), clock or Clock())


def ask(gate, pixels=SMALL, *, batch=False, timeout_s=30.0):
    priority = Priority.BATCH if batch else Priority.INTERACTIVE
    return gate.ask(pixels=pixels, priority=priority, timeout_s=timeout_s)


def test_the_first_request_is_taken_at_once():
    gate = gate_of()
    assert not ask(gate).waiting
    assert (gate.slots_in_use, gate.pixels_in_use) == (1, SMALL)


def test_when_all_slots_are_in_use_a_request_waits_and_is_let_in_when_one_is_free():
    gate = gate_of(slots=1)
    first, second = ask(gate), ask(gate)
    assert second.waiting
    assert gate.leave(first) == [second]
    assert not second.waiting
    assert gate.slots_in_use == 1


def test_when_the_line_is_full_a_request_is_refused():
    gate = gate_of(slots=1, waiting=2)
    for _ in range(3):
        ask(gate)
    with pytest.raises(Overloaded, match="2 requests wait already"):
        ask(gate)


def test_whoever_gives_up_is_never_let_in():
    gate = gate_of(slots=1)
    first, second, third = ask(gate), ask(gate), ask(gate)
    assert gate.leave(second) == []
    assert gate.leave(first) == [third]


def test_leaving_twice_gives_back_once():
    gate = gate_of()
    first, second = ask(gate), ask(gate)
    gate.leave(first)
    gate.leave(first)
    assert gate.slots_in_use == 1
    gate.leave(second)
    assert (gate.slots_in_use, gate.pixels_in_use) == (0, 0)


# Priorities


def test_interactive_requests_go_before_batch():
    gate = gate_of(slots=1)
    first, batch, interactive = ask(gate), ask(gate, batch=True), ask(gate)
    assert gate.leave(first) == [interactive]
    assert batch.waiting


def test_batch_takes_at_most_half_of_the_slots():
    gate = gate_of(slots=8, waiting=100)
    taken = [not ask(gate, batch=True).waiting for _ in range(6)]
    assert taken == [True, True, True, True, False, False]
    assert [ask(gate).waiting for _ in range(4)] == [False] * 4


def test_batch_takes_none_of_the_half_that_interactive_requests_need():
    gate = gate_of(slots=8, waiting=100)
    for _ in range(4):
        ask(gate)
    assert ask(gate, batch=True).waiting


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_batch_is_served_when_nobody_else_is_there(slots):
    assert not ask(gate_of(slots=slots), HUGE, batch=True).waiting


def test_a_full_line_of_batch_keeps_no_interactive_request_out():
    gate = gate_of(slots=1, waiting=1)
    ask(gate, batch=True)
    ask(gate, batch=True)
    assert ask(gate).waiting


# Pixels


def test_large_images_leave_a_quarter_of_the_pixels_to_others():
    gate = gate_of(slots=100)
    assert [ask(gate, HUGE).waiting for _ in range(3)] == [False, False, False]
    fourth = ask(gate, HUGE)
    assert fourth.waiting
    assert [ask(gate, SMALL).waiting for _ in range(49)] == [False] * 49
    assert ask(gate, SMALL).waiting


def test_one_huge_image_counts_like_fifty_small_ones():
    gate = gate_of(slots=1000, waiting=1000)
    small = 0
    while not ask(gate, SMALL).waiting:
        small += 1
    gate = gate_of(slots=1000, waiting=1000)
    ask(gate, HUGE)
    beside = 0
    while not ask(gate, SMALL).waiting:
        beside += 1
    assert (small, beside) == (199, 149)


def test_a_small_request_may_pass_a_large_one_that_does_not_fit():
    gate = gate_of(slots=100, waiting=10)
    for _ in range(3):
        ask(gate, HUGE)
    assert ask(gate, HUGE).waiting
    assert not ask(gate, SMALL).waiting


# Settling


def test_an_image_smaller_than_guessed_gives_the_rest_back():
    gate = gate_of(slots=10)
    tickets = [ask(gate, HUGE) for _ in range(4)]
    assert gate.settle(tickets[0], SMALL) == []
    assert gate.settle(tickets[1], SMALL) == [tickets[3]]
    assert gate.pixels_in_use == 2 * HUGE + 2 * SMALL


def test_an_image_larger_than_guessed_is_taken_if_there_is_room():
    gate = gate_of()
    ticket = ask(gate, SMALL)
    gate.settle(ticket, HUGE)
    assert not ticket.waiting
    assert (gate.slots_in_use, gate.pixels_in_use) == (1, HUGE)


def test_else_it_keeps_its_slot_and_waits_without_pixels():
    gate = gate_of(slots=10)
    large = [ask(gate, HUGE) for _ in range(3)]
    ticket = ask(gate, SMALL)
    assert gate.settle(ticket, HUGE) == []
    assert ticket.waiting
    assert (gate.slots_in_use, gate.pixels_in_use, gate.settling) == (4, 3 * HUGE, 1)
    assert gate.leave(large[0]) == [ticket]
    assert (gate.slots_in_use, gate.pixels_in_use, gate.settling) == (3, 3 * HUGE, 0)


def test_images_that_all_grow_do_not_block_each_other():
    gate = gate_of(slots=10)
    tickets = [ask(gate, SMALL) for _ in range(10)]
    settled = []
    for ticket in tickets:
        settled += gate.settle(ticket, HUGE)
    while settled:
        settled += gate.leave(settled.pop(0), done=True)
    assert (gate.slots_in_use, gate.pixels_in_use) == (0, 0)
    assert not any(ticket.waiting for ticket in tickets)


def test_while_a_complete_upload_waits_others_get_half_of_the_pixels():
    gate = gate_of(slots=100, waiting=10)
    large = [ask(gate, HUGE) for _ in range(3)]
    growing = ask(gate, SMALL)
    gate.settle(growing, HUGE)
    small = ask(gate, SMALL)
    assert small.waiting
    assert gate.leave(large[0]) == [growing, small]


def test_a_complete_upload_waits_a_fifth_of_its_time():
    gate = gate_of(slots=100)
    for _ in range(3):
        ask(gate, HUGE)
    growing = ask(gate, SMALL, timeout_s=10.0)
    gate.settle(growing, HUGE)
    assert growing.give_up_at == 2.0
    gate.leave(growing)
    assert (gate.slots_in_use, gate.settling) == (3, 0)


# Slow uploads


def test_a_slow_upload_lets_another_request_have_its_place():
    gate = gate_of(slots=1)
    slow, other = ask(gate), ask(gate)
    assert gate.park(slow) == [other]
    assert (gate.slots_in_use, gate.pixels_in_use, gate.parked) == (1, SMALL, 1)


def test_when_it_is_complete_it_goes_before_those_that_have_not_sent_anything():
    gate = gate_of(slots=1)
    slow, other = ask(gate), ask(gate)
    gate.park(slow)
    newcomer = ask(gate)
    assert gate.settle(slow, SMALL) == []
    assert gate.leave(other) == [slow]
    assert newcomer.waiting
    assert (gate.slots_in_use, gate.pixels_in_use, gate.parked, gate.parked_bytes) == (1, SMALL, 0, 0)


def test_parked_uploads_may_hold_so_many_bytes_and_no_more():
    gate = gate_of(parked_bytes=1000)
    slow = ask(gate)
    gate.uploaded(slow, 400)
    gate.park(slow)
    gate.uploaded(slow, 600)
    assert gate.parked_bytes == 1000
    with pytest.raises(Overloaded, match="upload was slow"):
        gate.uploaded(slow, 1)
    gate.leave(slow)
    assert (gate.parked, gate.parked_bytes) == (0, 0)


def test_an_upload_that_would_be_too_much_to_park_keeps_its_slot():
    gate = gate_of(parked_bytes=1000)
    slow = ask(gate)
    gate.uploaded(slow, 1001)
    assert gate.park(slow) == []
    assert (gate.slots_in_use, gate.parked) == (1, 0)


def test_a_request_that_is_being_worked_on_is_not_parked():
    gate = gate_of()
    ticket = ask(gate)
    gate.settle(ticket, SMALL)
    assert gate.park(ticket) == []
    assert (gate.slots_in_use, gate.parked) == (1, 0)


# The pace


def worked(gate, clock, *, seconds_each, requests=100):
    for _ in range(requests):
        ticket = ask(gate)
        gate.settle(ticket, SMALL)
        clock.now += seconds_each
        gate.leave(ticket, done=True)


@pytest.mark.parametrize(
    ("seconds_each", "timeout_s", "slots"),
    [
        (0.1, 30.0, 32),  # fast enough for all slots
        (1.0, 30.0, 16),  # half of 30 seconds is time for 15, and one is always about to be done
        (1.0, 120.0, 32),
        (1.0, 20.0, 11),
        (1.0, 1.0, 6),  # whatever the pace, so many
        (10.0, 30.0, 6),
    ],
)
def test_there_are_as_many_slots_as_are_finished_in_half_of_the_time(seconds_each, timeout_s, slots):
    clock = Clock()
    gate = gate_of(slots=32, clock=clock)
    worked(gate, clock, seconds_each=seconds_each)
    assert gate.slots(timeout_s) == slots


def test_before_anything_is_known_of_the_pace_there_are_all_slots():
    assert gate_of(slots=32).slots(30.0) == 32


def test_five_uploads_at_once_are_taken_on_the_slowest_machine():
    clock = Clock()
    gate = gate_of(slots=32, clock=clock)
    worked(gate, clock, seconds_each=29.0)
    assert [ask(gate, 30_000_000).waiting for _ in range(5)] == [False] * 5
