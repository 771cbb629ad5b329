"""Figures from the course of a drill."""

import pytest

from tests.drills import course as figures
from tests.drills.limits import Judgement, Limit, Measure, back_within, judge
from tests.drills.made_drills import GONE, OK, REFUSED, course, sent
from tests.drills.watch import Sight

NOTHING = course()
WELL = course(sent(OK, 5), sent(OK, 15), sent(OK, 25))
BROKEN = course(sent(OK, 5), sent(REFUSED, 12, 1.5), sent(OK, 13), sent(REFUSED, 21), sent(OK, 22), sent(OK, 23))
LASTING = course(sent(OK, 5), sent(REFUSED, 12), sent(REFUSED, 25))


@pytest.mark.parametrize(
    ("figure", "nothing", "well", "broken", "lasting"),
    [
        (figures.failures, 0, 0, 2, 2),
        (figures.overtime_s, -2.0, -1.9, -0.5, -1.9),
        (figures.recovered_s, None, 0.0, 2.0, None),
        (figures.outage_s, 0.0, 0.0, 10.1, None),
        (figures.failing_for_s, 0.0, 0.0, 11.1, 15.1),
        (figures.slowed_for_s, 0.0, 0.0, 11.1, 15.1),
    ],
)
def test_figures(
    figure: Measure, nothing: float | None, well: float | None, broken: float | None, lasting: float | None
) -> None:
    assert [figure(one) for one in (NOTHING, WELL, BROKEN, LASTING)] == [
        pytest.approx(value) if value is not None else None for value in (nothing, well, broken, lasting)
    ]


def test_a_client_that_left_is_neither_late_nor_failed() -> None:
    left = course(sent(GONE, 12, 30.0))
    assert (figures.failures(left), figures.overtime_s(left)) == (0, -2.0)


def test_a_page_that_came_after_the_deadline_was_slowed() -> None:
    slow = course(sent(OK, 12, 1.9), sent(OK, 13, 3.0), sent(OK, 17))
    assert (figures.failing_for_s(slow), figures.slowed_for_s(slow)) == (0.0, 6.0)


def test_the_share_that_failed_at_once_is_of_the_first_second() -> None:
    met = course(
        sent(OK, 9.9), sent(OK, 10.1), sent(OK, 10.3), sent(REFUSED, 10.5), sent(OK, 10.9), sent(REFUSED, 11.5)
    )
    assert figures.failed_at_once(met) == 0.25
    assert figures.failed_at_once(NOTHING) == 0.0


NOT_READY = (Sight(9.0, "g", False), Sight(10.2, "g", True), Sight(11.0, "g", False), Sight(11.1, "g", False))


def test_a_fault_is_detected_by_the_first_no_after_it() -> None:
    assert figures.detected_s(course(ready=NOT_READY)) == 1.0
    assert figures.detected_s(course(ready=NOT_READY[:2])) is None


def test_refusals_are_timed_once_the_fault_is_known_and_until_it_is_over() -> None:
    before, known, after = sent(REFUSED, 10.5, 2.0), sent(REFUSED, 11.5, 0.01), sent(REFUSED, 21, 1.0)
    assert figures.refusal_p99_s(course(before, known, after, ready=NOT_READY)) == pytest.approx(0.01)
    assert figures.refusal_p99_s(course(before, known, after)) is None
    assert figures.refusal_p99_s(course(before, ready=NOT_READY)) is None


def test_a_probe_that_says_no_is_counted() -> None:
    assert figures.dead_probes(course(alive=(Sight(1.0, "g", True), Sight(2.0, "g", False)))) == 1


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([1.0], 0.99, 1.0), ([1.0, 2.0], 0.5, 1.0), ([*map(float, range(1, 201))], 0.99, 198)],
)
def test_a_quantile_is_one_of_the_values(values: list[float], share: float, expected: float) -> None:
    assert figures.quantile(values, share) == expected


def test_a_limit_is_met_up_to_its_value() -> None:
    limit = back_within("O9", 2.0)
    assert judge((limit,), BROKEN) == [Judgement(limit, 2.0)]
    assert judge((limit,), BROKEN)[0].met
    assert not judge((back_within("O9", 1.9),), BROKEN)[0].met


def test_what_did_not_happen_meets_a_limit_only_if_it_may() -> None:
    assert not Judgement(Limit("x", "", figures.failures, 1), None).met
    assert Judgement(Limit("x", "", figures.failures, 1, may_be_absent=True), None).met
