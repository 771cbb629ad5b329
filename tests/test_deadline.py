import time

from gateway.deadline import Deadline


def test_a_new_deadline_has_its_whole_length_left():
    assert 59 < Deadline.after(60).remaining() <= 60


def test_what_is_left_never_falls_below_zero():
    deadline = Deadline(at=time.monotonic() - 5, timeout_s=1)
    assert deadline.remaining() == 0
    assert deadline.expired
