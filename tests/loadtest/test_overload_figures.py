"""Figures of an overload: from replies to shares and times, and from those to goals."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import pytest
from overload_examples import stand

from loadtest.overload.campaign import count_refusals, to_jump
from loadtest.overload.goals import judge
from loadtest.overload.reply import Answer, Reply, goodput, quantile, recovered_s
from loadtest.overload.results import StreamResult

DEADLINE_S = 1.0
PIXELS = 200_000_000
PAGE = Reply("pages", 0.0, 0.01, 0.11, Answer(200))
REFUSAL = replace(PAGE, answer=Answer(503, retry_after=True, closes=True, code="overloaded"))


def pages(begin: float, end: float, rate: float) -> list[Reply]:
    """Pages that are complete at a steady rate in this time."""
    ends = [begin + number / rate for number in range(round((end - begin) * rate))]
    return [replace(PAGE, due_at=at - 0.1, sent_at=at - 0.1, ended_at=at) for at in ends]


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ((), 0.99, None),
        ((3.0,), 0.99, 3.0),
        ((4.0, 1.0, 3.0, 2.0), 0.5, 2.0),
        (tuple(map(float, range(100))), 0.99, 98.0),
    ],
    ids=["nothing", "one", "median", "p99"],
)
def test_a_quantile_is_one_of_the_values(values: Sequence[float], share: float, expected: float | None) -> None:
    assert quantile(values, share) == expected


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([], 0.0),
        ([PAGE, PAGE], 1.0),
        ([REFUSAL], 0.0),
        ([replace(PAGE, ended_at=1.5)], 0.0),
        ([replace(PAGE, ended_at=2.0, sent_at=1.9)], 0.0),
    ],
    ids=["nothing", "pages", "refused", "too late", "afterwards"],
)
def test_goodput_is_pages_within_their_deadline(replies: list[Reply], expected: float) -> None:
    assert goodput(replies, 0.0, 2.0, DEADLINE_S) == expected


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([], None),
        (pages(10.0, 15.0, 40), 0.0),
        (pages(11.5, 15.0, 40), 1.5),
        (pages(10.0, 15.0, 30), None),
    ],
    ids=["nothing", "at once", "after a while", "never"],
)
def test_recovery_is_the_time_to_a_second_as_good_as_before(replies: list[Reply], expected: float | None) -> None:
    took = recovered_s(replies, 10.0, 38.0, DEADLINE_S)
    assert took == (None if expected is None else pytest.approx(expected, abs=0.11))


def test_a_jump_is_measured_against_the_calm_before_it() -> None:
    replies = [*pages(0.0, 10.0, 40), *pages(10.0, 20.0, 10), *pages(20.0, 30.0, 40)]
    jump = to_jump(replies, [0.0, 10.0, 20.0, 30.0])
    assert jump.calm == pytest.approx(40.0, abs=0.5)
    assert jump.recovered_s == pytest.approx(0.0, abs=0.11)
    assert jump.flood == (10.0, 20.0)
    assert len(jump.goodput) == 60
    assert jump.goodput[30] == pytest.approx(10.0, abs=2.0)


def test_a_stream_is_told_from_the_others_and_by_how_it_ended() -> None:
    late = replace(PAGE, ended_at=2.0)
    lost = replace(PAGE, answer=Answer())
    rude = replace(REFUSAL, answer=Answer(503, code="overloaded"), ended_at=0.06)
    slow = replace(PAGE, answer=Answer(408, code="body_timeout"))
    foreign = replace(PAGE, answer=Answer(502))
    twice = replace(PAGE, answer=Answer(200, surplus=3))
    result = StreamResult.of(
        "pages", [PAGE, late, lost, REFUSAL, rude, twice, slow, foreign, replace(PAGE, stream="other")], 2.0, DEADLINE_S
    )
    assert (result.sent, result.good, result.refused, result.unanswered, result.twice) == (8, 2, 2, 1, 1)
    assert (result.rude, result.open, result.offered, result.goodput) == (1, 1, 4.0, 1.0)
    assert asdict(result)["failed"] == {"body_timeout": 1, "http_502": 1}
    assert (result.accepted_p99_s, result.refused_p99_s) == (pytest.approx(1.99), pytest.approx(0.1))
    assert result.share_good == pytest.approx(1 / 4)


def test_a_stream_that_nobody_sent_has_no_share() -> None:
    assert StreamResult.of("pages", [], 2.0, DEADLINE_S).share_good == 0.0


@pytest.mark.parametrize("name", ["alone", "behind nginx"])
def test_a_good_gateway_meets_every_goal(name: str) -> None:
    assert [judgement for judgement in judge(stand(name), DEADLINE_S, PIXELS) if not judgement.met] == []


@pytest.mark.parametrize(
    ("changes", "missed", "binding"),
    [
        ({"unanswered": 1}, {"answers"}, True),
        ({"twice": 1}, {"answers"}, True),
        ({"rude": 1}, {"O3"}, True),
        ({"open": 11}, {"O3"}, True),
        ({"goodput": 84.0}, {"O1"}, False),
        ({"accepted_p99_s": 1.1}, {"O2"}, False),
        ({"accepted_p99_s": None}, {"O2", "O7"}, False),
        ({"refused_p99_s": 0.06}, {"O3"}, False),
        ({"good": 2980}, {"O5"}, False),
        ({"recovered_s": 2.1}, {"O4"}, False),
        ({"recovered_s": None}, {"O4"}, False),
    ],
)
def test_a_goal_that_is_missed_is_called_missed(changes: dict[str, object], missed: set[str], binding: bool) -> None:
    unmet = [one for one in judge(stand(**{"good": 3000, **changes}), DEADLINE_S, PIXELS) if not one.met]  # type: ignore[arg-type]
    assert {one.goal for one in unmet} == missed
    assert any(one.binding for one in unmet) is binding


def test_more_pixels_than_the_budget_are_a_fault() -> None:
    assert [one.goal for one in judge(stand(good=3000), DEADLINE_S, 999_999) if not one.met] == ["O7"]


def test_a_refusal_is_late_if_some_of_the_body_was_read() -> None:
    refused = {"code": "overloaded", "body_bytes": 0}
    assert count_refusals([]) == (0, 0)
    assert count_refusals([refused, refused, {**refused, "body_bytes": 5}, {"code": None}, {}]) == (2, 1)


def test_a_refusal_costs_what_a_flood_takes_beside_its_pages() -> None:
    result = stand(sent=3000, refused=1000)
    assert result.page_cost_s("0.9 x", "pages") == pytest.approx(29.1 / 2000)
    assert result.refusal_cost_s("10 x", "pages", 0.01) == pytest.approx((29.1 - 20.0) / 1000)
    assert stand(refused=0).refusal_cost_s("10 x", "pages", 0.01) is None
