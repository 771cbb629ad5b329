import pytest
from capacity_examples import STAGES, busy, calm, overrun, sample

from loadtest.capacity.samples import Step
from loadtest.capacity.steps import crossing, enough, knee, peak, sizing, summarize


def test_a_step_is_described_by_the_requests_that_were_due_in_it():
    step = calm()
    assert (step.requests, step.offered_per_s) == (50, 5.0)
    assert step.answered_per_s == pytest.approx(5.0)
    assert (step.p50_ms, step.p95_ms) == pytest.approx((100.0, 100.0))
    assert step.stages_ms == STAGES
    assert not step.saturated


def test_an_answer_that_takes_long_does_not_make_a_service_slow():
    assert not summarize(Step(1.0, 0.0, 10.0), [sample(float(number), 8.0) for number in range(10)]).saturated


def test_a_service_that_answers_half_of_what_is_asked_does_not_keep_up():
    assert overrun().saturated
    assert overrun().answered_per_s == pytest.approx(10.0)
    assert overrun().p95_ms == pytest.approx(9550.0)


def test_refusals_are_counted_by_their_code_and_are_no_answers():
    samples = [sample(number / 5, 0.1, *((503, "overloaded") if number % 10 == 0 else ())) for number in range(50)]
    step = summarize(Step(5.0, 0.0, 10.0), samples)
    assert step.failed == {"503 overloaded": 5}
    assert step.saturated


def test_a_document_with_pages_that_could_not_be_read_is_no_answer():
    step = summarize(Step(1.0, 0.0, 1.0), [sample(0.0, 0.1, 200, "2 pages could not be read")])
    assert step.failed == {"200 2 pages could not be read": 1}
    assert step.power == 0.0


def test_p95_crosses_the_target_between_two_steps():
    found = crossing([calm(), busy(), overrun()], 200.0)
    assert found.where == "between"
    assert found.rate == pytest.approx(5.0 + 4.0 * 100 / 200)


def test_a_target_that_is_missed_at_once_has_no_rate():
    assert crossing([calm(), busy()], 50.0) == crossing([calm()], 50.0)
    assert crossing([calm()], 50.0).where == "first"
    assert crossing([calm()], 50.0).rate is None


def test_a_target_that_is_never_missed_was_met_up_to_the_last_step():
    found = crossing([calm(), busy()], 1000.0)
    assert (found.where, found.rate) == ("nowhere", 9.0)


def test_the_knee_has_the_most_pages_for_their_time():
    assert knee([calm(), busy(), overrun()]) == busy()
    assert peak([calm(), busy(), overrun()]) == pytest.approx(10.0)


def test_replicas_follow_the_target_where_it_can_be_met_and_else_the_peak():
    steps = [calm(), busy(), overrun()]
    by_target, by_peak = sizing(steps, 200.0, 100.0), sizing(steps, 50.0, 100.0)
    assert (by_target.by_peak, by_target.replicas) == (False, 15 + 1)  # 100 / 7
    assert (by_peak.by_peak, by_peak.replicas) == (True, 15 + 1)  # 100 / (0.7 x 10)
    assert sizing([calm()], 50.0, 1.0).replicas == 2


def test_nothing_is_planned_with_what_answers_nothing():
    refused = summarize(Step(1.0, 0.0, 1.0), [sample(0.0, 0.1, 503, "overloaded")])
    assert sizing([refused], 200.0, 1.0).replicas is None


def test_the_rate_is_raised_until_both_ends_are_known():
    assert not enough([], 200.0)
    assert not enough([calm(), busy()], 200.0)
    assert not enough([overrun()], 100_000.0)
    assert enough([calm(), busy(), overrun()], 200.0)
