import time

from gateway.deadline import Deadline, RenewedDeadline


def test_a_new_deadline_has_its_whole_length_left():
    assert 59 < Deadline.after(60).remaining() <= 60


def test_what_is_left_never_falls_below_zero():
    deadline = Deadline(at=time.monotonic() - 5, timeout_s=1)
    assert deadline.remaining() == 0
    assert deadline.expired


def renewed(*, longest_s=60.0, stopping=False):
    """A deadline of five seconds, four of which are over, and then renewed."""
    first = Deadline(at=time.monotonic() + 1, timeout_s=5)
    return first, RenewedDeadline(first, longest_s=longest_s, stopping=lambda: stopping).renew()


def test_a_renewed_deadline_has_its_whole_length_again():
    assert 4 < renewed()[1].remaining() <= 5


def test_it_is_never_renewed_past_the_end_of_all():
    assert 1 < renewed(longest_s=2)[1].remaining() <= 2


def test_nothing_is_renewed_while_the_service_stops_and_nothing_becomes_shorter():
    first, after = renewed(stopping=True)
    assert after == first
    first, after = renewed(longest_s=0.1)
    assert after == first
