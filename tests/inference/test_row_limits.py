from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.inference.batching import step_below
from gateway.inference.row_limits import TRIAL_INTERVAL_S, RowLimits

BUCKET = 320
HALVES = (1, 2, 4, 8, 16, 32)
COUNTS = (1, 8, 32)
NEVER_ONE = (8, 32)
STEPS = st.sampled_from([HALVES, COUNTS, NEVER_ONE, (1, 2, 5, 10), (1,)])


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def pass_s(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limits(clock):
    return RowLimits(clock=clock)


def fail(limits, rows, steps=HALVES, bucket=BUCKET):
    limits.failed(limits.begin(bucket, rows), smaller=step_below(steps, rows) or rows)


def fit(limits, rows, bucket=BUCKET):
    limits.fitted(limits.begin(bucket, rows))


def test_without_a_failure_full_chunks_are_allowed_and_nothing_is_learnt(limits):
    fit(limits, 32)
    assert (limits.allowed(BUCKET, HALVES), limits.learnt(BUCKET)) == (32, None)


@pytest.mark.parametrize(
    ("steps", "failing", "allowed"),
    [
        (HALVES, 32, 16),
        (HALVES, 20, 8),
        (HALVES, 2, 1),
        (HALVES, 1, 1),
        (COUNTS, 32, 8),
        (COUNTS, 8, 1),
        (COUNTS, 1, 1),
        (NEVER_ONE, 32, 8),
        (NEVER_ONE, 8, 8),
    ],
)
def test_a_failure_lowers_the_limit_to_the_step_below_it(limits, steps, failing, allowed):
    fail(limits, failing, steps)
    assert limits.allowed(BUCKET, steps) == allowed


def test_failures_in_a_row_lower_it_to_the_lowest_step_and_no_further(limits):
    seen = []
    for _ in range(7):
        rows = limits.allowed(BUCKET, HALVES)
        seen.append(rows)
        fail(limits, rows)
    assert seen == [32, 16, 8, 4, 2, 1, 1]


def test_buckets_learn_by_themselves(limits):
    fail(limits, 32)
    assert limits.allowed(640, HALVES) == 32


def test_calls_that_were_under_way_together_lower_it_once(limits):
    first, second = limits.begin(BUCKET, 32), limits.begin(BUCKET, 32)
    limits.failed(first, smaller=16)
    limits.failed(second, smaller=16)
    assert limits.learnt(BUCKET) == 16


def test_a_call_that_began_before_the_limit_was_learnt_does_not_lift_it(limits, clock):
    first, second = limits.begin(BUCKET, 32), limits.begin(BUCKET, 32)
    clock.pass_s(1)
    limits.failed(first, smaller=16)
    limits.fitted(second)
    assert limits.learnt(BUCKET) == 16


def test_after_a_quiet_minute_one_call_may_try_the_next_step(limits, clock):
    fail(limits, 32, COUNTS)
    clock.pass_s(TRIAL_INTERVAL_S - 1)
    assert limits.allowed(BUCKET, COUNTS) == 8
    clock.pass_s(1)
    assert limits.allowed(BUCKET, COUNTS) == 32
    limits.begin(BUCKET, 32)
    assert limits.allowed(BUCKET, COUNTS) == 8


def test_a_call_within_the_limit_is_no_trial(limits, clock):
    fail(limits, 32)
    clock.pass_s(TRIAL_INTERVAL_S)
    limits.begin(BUCKET, 16)
    assert limits.allowed(BUCKET, HALVES) == 32


def test_a_trial_that_fits_is_the_new_limit_and_the_next_one_is_a_minute_away(limits, clock):
    fail(limits, 4)
    clock.pass_s(TRIAL_INTERVAL_S)
    fit(limits, 4)
    assert limits.allowed(BUCKET, HALVES) == 4
    clock.pass_s(TRIAL_INTERVAL_S)
    assert limits.allowed(BUCKET, HALVES) == 8


def test_a_trial_that_fails_leaves_the_limit_as_it_was(limits, clock):
    fail(limits, 32)
    clock.pass_s(TRIAL_INTERVAL_S)
    trial = limits.begin(BUCKET, 32)
    clock.pass_s(10)
    limits.failed(trial, smaller=16)
    clock.pass_s(TRIAL_INTERVAL_S - 10)
    assert limits.allowed(BUCKET, HALVES) == 16
    clock.pass_s(10)
    assert limits.allowed(BUCKET, HALVES) == 32


def test_a_trial_without_an_outcome_is_made_again_a_minute_later(limits, clock):
    fail(limits, 32)
    clock.pass_s(TRIAL_INTERVAL_S)
    limits.begin(BUCKET, 32)
    clock.pass_s(TRIAL_INTERVAL_S)
    assert limits.allowed(BUCKET, HALVES) == 32


def test_a_limit_that_no_model_takes_any_more_is_rounded_to_a_step(limits):
    fail(limits, 16)
    assert limits.allowed(BUCKET, COUNTS) == 8
    fail(limits, 2)
    assert limits.allowed(BUCKET, NEVER_ONE) == 8


def run(limits, clock, steps, capacities, gap_s):
    """Chunks as large as allowed, one after the other, and the capacity for each; when one ran out of memory."""
    failures = []
    for capacity in capacities:
        rows = limits.allowed(BUCKET, steps)
        assert rows in steps
        if rows > capacity:
            failures.append(clock.now)
            fail(limits, rows, steps)
        else:
            fit(limits, rows)
        clock.pass_s(gap_s)
    return failures


@given(steps=STEPS, data=st.data(), gap_s=st.floats(0.01, 9))
def test_while_nothing_changes_there_is_at_most_one_failure_a_minute_once_the_limit_is_found(steps, data, gap_s):
    capacity = data.draw(st.integers(steps[0], 40))
    clock = Clock()
    limits = RowLimits(clock=clock)
    run(limits, clock, steps, [capacity] * len(steps), gap_s)
    assert limits.allowed(BUCKET, steps) == max(step for step in steps if step <= capacity)
    failures = run(limits, clock, steps, [capacity] * 300, gap_s)
    assert all(after - before >= TRIAL_INTERVAL_S for before, after in pairwise(failures))


@given(steps=STEPS, capacities=st.lists(st.integers(1, 40), max_size=60), gap_s=st.floats(0.01, 200))
def test_when_the_memory_is_back_full_chunks_are_in_as_many_minutes_as_there_are_steps(steps, capacities, gap_s):
    clock = Clock()
    limits = RowLimits(clock=clock)
    run(limits, clock, steps, capacities, gap_s)
    for _ in steps:
        clock.pass_s(TRIAL_INTERVAL_S)
        run(limits, clock, steps, [40], 0.0)
    assert limits.allowed(BUCKET, steps) == steps[-1]


@given(
    steps=STEPS,
    moves=st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["fit", "fail", "neither"]), st.floats(0, 100))),
)
def test_in_whatever_order_calls_end_no_failed_size_is_tried_at_once_and_the_limit_stays_in_bounds(steps, moves):
    clock = Clock()
    limits = RowLimits(clock=clock)
    under_way = []
    for pick, outcome, seconds in moves:
        under_way.append(limits.begin(BUCKET, limits.allowed(BUCKET, steps)))
        clock.pass_s(seconds)
        attempt = under_way.pop(pick % len(under_way))
        if outcome == "fit":
            limits.fitted(attempt)
        elif outcome == "fail":
            limits.failed(attempt, smaller=step_below(steps, attempt.rows) or attempt.rows)
            assert limits.allowed(BUCKET, steps) < attempt.rows or attempt.rows == steps[0]
        assert limits.learnt(BUCKET) is None or steps[0] <= limits.learnt(BUCKET) <= steps[-1]
