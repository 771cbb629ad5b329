import pytest

from gateway.web.pace import Pace


def after(*, requests, seconds_each, at_once=1):
    """A pace that has seen so many requests finished, and the time by then."""
    pace, now = Pace(), 0.0
    for _ in range(at_once):
        pace.begin(now)
    for _ in range(requests):
        now += seconds_each / at_once
        pace.end(now, done=True)
        pace.begin(now)
    return pace, now


def test_before_there_was_any_work_the_pace_is_unknown_and_counts_as_infinite():
    assert Pace().finished_within(1.0, now=5.0) == float("inf")


@pytest.mark.parametrize(("seconds_each", "at_once"), [(2.0, 1), (0.5, 1), (2.0, 4), (0.1, 10)])
def test_in_the_long_run_it_is_the_requests_finished_in_a_second(seconds_each, at_once):
    pace, now = after(requests=2000, seconds_each=seconds_each, at_once=at_once)
    assert pace.finished_within(10.0, now) == pytest.approx(10.0 * at_once / seconds_each, rel=0.25)


def test_time_without_work_does_not_count():
    pace, now = after(requests=50, seconds_each=1.0)
    pace.end(now, done=True)
    assert pace.finished_within(10.0, now + 10_000) == pytest.approx(pace.finished_within(10.0, now))


def test_requests_that_fail_take_time_and_finish_nothing():
    pace, now = after(requests=50, seconds_each=1.0)
    for _ in range(100):
        now += 1.0
        pace.end(now, done=False)
        pace.begin(now)
    assert pace.finished_within(10.0, now) < 1.0


def test_work_that_never_finishes_makes_it_ever_slower():
    pace = Pace()
    pace.begin(0.0)
    assert [round(pace.finished_within(10.0, now), 1) for now in (1.0, 2.0, 4.0)] == [10.4, 5.4, 2.9]


def test_it_recovers_within_a_few_half_lives():
    pace = Pace()
    pace.begin(0.0)
    now = 300.0
    for _ in range(60):
        now += 0.5
        pace.end(now, done=True)
        pace.begin(now)
    assert pace.finished_within(10.0, now) > 15


def test_a_long_document_counts_by_its_pages():
    pace = Pace()
    pace.begin(0.0)
    for now in range(1, 301):
        pace.progress(float(now))
    assert pace.finished_within(10.0, 300.0) == pytest.approx(10.0, rel=0.25)
