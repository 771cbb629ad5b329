"""Rollouts: what the report says of them, and a short one on real processes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from loadtest.rollout.__main__ import DOCUMENT, parser, to_options
from loadtest.rollout.campaign import MARKERS, Options, run
from loadtest.rollout.report import Outcome, StepResult, json_report, markdown
from loadtest.rollout.steps import Step, steps
from tests.deployed_nginx import nginx_is_missing
from tests.drills.actions import nothing
from tests.drills.ledger import Ending, Exchange, Finding, Span

HOME = Path(__file__).parents[2] / ".local"
PAGE = Exchange("a", "line", 1.0, 1.25, Ending.ANSWERED, 200)
REFUSED = replace(PAGE, request_id="b", sent_at=3.0, ended_at=4.0, status=503, code="overloaded")
STEP = Step("both gateways restarted", "R1", nothing, 2)


@pytest.mark.parametrize(
    ("span", "requests", "failed", "slowest_s"),
    [(Span(8.0, 9.0), 0, 0, 0.0), (Span(0.0, 2.0), 1, 0, 0.25), (Span(1.1, 5.0), 2, 1, 1.0)],
    ids=["nobody asked", "one", "both"],
)
def test_a_step_is_charged_with_what_was_under_way(span: Span, requests: int, failed: int, slowest_s: float) -> None:
    result = StepResult.of(STEP, span, [PAGE, REFUSED])
    assert (result.requests, result.failed, result.slowest_s) == (requests, failed, slowest_s)
    assert result.seconds == (span.end - span.begin) / 2


@pytest.mark.parametrize(
    ("outcome", "good"),
    [
        (Outcome([], [], [], 30.0), True),
        (Outcome([PAGE], [], [], 30.0), True),
        (Outcome([REFUSED], [], [], 30.0), False),
        (Outcome([PAGE], [], [Finding("a", "was not answered")], 30.0), False),
        (Outcome([PAGE], [], [], 30.0, ["Tritons"]), False),
    ],
    ids=["nothing", "page", "failed", "unexplained", "left out"],
)
def test_only_a_rollout_that_cost_nothing_and_left_nothing_out_is_good(outcome: Outcome, good: bool) -> None:
    assert outcome.good is good


def test_the_report_begins_with_what_it_cost() -> None:
    result = StepResult.of(STEP, Span(0.0, 5.0), [PAGE, REFUSED])
    outcome = Outcome([PAGE, REFUSED], [result], [Finding("b", "was refused")], 30.0, ["Tritons restarted"])
    assert markdown(outcome, "Here.").splitlines() == [
        "Here.",
        "",
        "**1 of 2 requests failed; the ledger has 1 that are unexplained.**",
        "",
        "| goal | what was done | times | s each | requests meanwhile | failed | slowest, s |",
        "|---|---|--:|--:|--:|--:|--:|",
        "| R1 | both gateways restarted | 2 | 2.5 | 2 | 1 | 1.00 |",
        "",
        "Not made: Tritons restarted.",
        "",
        "* b was refused",
    ]


def test_many_findings_are_not_all_shown() -> None:
    outcome = Outcome([], [], [Finding(str(number), "was not answered") for number in range(23)], 30.0)
    assert markdown(outcome, "").endswith("* 19 was not answered\n* and 3 more")
    assert len(json.loads(json_report(outcome))["findings"]) == 23


@pytest.mark.parametrize(
    ("arguments", "document"),
    [([], DOCUMENT), (["--no-document"], None), (["--times", "2"], None), (["--requests", "200"], None)],
)
def test_only_a_full_rollout_is_written_into_the_document(arguments: list[str], document: Path | None) -> None:
    assert to_options(parser().parse_args(arguments)).document == document


def test_the_document_has_a_place_for_it() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(MARKERS.begin) == text.count(MARKERS.end) == 1


@pytest.mark.e2e
@pytest.mark.skipif(bool(nginx_is_missing()), reason=nginx_is_missing())
@pytest.mark.timeout(300)
async def test_replacing_everything_once_fails_no_request(tmp_path: Path) -> None:
    outcome = await run(Options(steps(1), 200, 12.0, HOME, tmp_path, None), print)
    assert outcome.findings == []
    assert outcome.failed == 0
    assert len(outcome.exchanges) >= 200
