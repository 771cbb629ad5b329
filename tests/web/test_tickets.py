import pytest

from gateway.web.tickets import Line, Priority, Ticket


def ticket(timeout_s=30.0):
    return Ticket(Priority.INTERACTIVE, timeout_s, pixels=1)


def test_an_empty_line_has_nobody_and_is_not_overloaded():
    line = Line(0.15)
    assert len(line) == 0
    assert list(line.in_turn(1e9)) == []
    assert not line.overloaded(1e9)


def test_the_first_one_is_the_next_one():
    line, tickets = Line(0.15), [ticket(), ticket(), ticket()]
    for one in tickets:
        line.add(one, 0.0)
    assert list(line.in_turn(0.1)) == tickets


def test_in_a_line_that_has_been_standing_the_newest_is_the_next():
    line = Line(0.15)
    old, new = ticket(), ticket()
    line.add(old, 0.0)
    line.add(new, 0.1)
    old.give_up_at = new.give_up_at = 1.0
    assert list(line.in_turn(0.16)) == [new, old]


def test_a_line_that_was_empty_in_between_is_not_overloaded():
    line, first = Line(0.15), ticket()
    line.add(first, 0.0)
    line.discard(first, 0.1)
    line.add(ticket(), 0.2)
    assert not line.overloaded(0.3)
    assert line.overloaded(0.36)


@pytest.mark.parametrize(("timeout_s", "wait_s"), [(30.0, 0.15), (1.0, 0.15), (0.5, 0.1), (0.05, 0.01)])
def test_a_wait_takes_no_more_than_a_fifth_of_the_time(timeout_s, wait_s):
    line, one = Line(0.15), ticket(timeout_s)
    line.add(one, 7.0)
    assert one.give_up_at == pytest.approx(7.0 + wait_s)


@pytest.mark.parametrize(("left_at", "overloaded"), [(0.05, False), (0.1495, True), (0.2, True)])
def test_after_somebody_has_waited_in_vain_the_line_is_overloaded_for_a_second(left_at, overloaded):
    line, first = Line(0.15), ticket()
    line.add(first, 0.0)
    line.discard(first, left_at)
    assert line.overloaded(left_at + 0.9) is overloaded
    assert not line.overloaded(left_at + 1.1)


def test_one_that_is_let_in_at_the_last_moment_has_not_waited_in_vain():
    line, first = Line(0.15), ticket()
    line.add(first, 0.0)
    first.has_slot = True
    line.discard(first, 0.15)
    assert not line.overloaded(0.16)


def test_in_a_standing_line_a_wait_is_short():
    line, second = Line(0.15), ticket()
    line.add(ticket(), 0.0)
    line.add(second, 0.2)
    assert second.give_up_at == pytest.approx(0.215)


def test_whoever_should_have_given_up_has_no_turn():
    line = Line(0.15)
    line.add(ticket(), 0.0)
    assert list(line.in_turn(0.15)) == []


def test_taking_out_one_that_is_not_in_does_nothing():
    line = Line(0.15)
    line.discard(ticket(), 1.0)
    assert len(line) == 0
