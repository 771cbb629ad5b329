"""What counts as unexplained."""

from dataclasses import replace
from typing import Any

import pytest

from tests.drills.ledger import Account, Admission, Ending, Exchange, Excuses, Finding, Ledger, Span

TEXTS = {"page": "the text"}
FAULT_AT = 10.0
EXCUSES = Excuses(frozenset({"backend_unavailable"}), FAULT_AT, (Span(10.0, 11.0),))

GOOD = Exchange("a", "page", 1.0, 1.1, Ending.ANSWERED, 200, None, "the text", "a")
REFUSED = Exchange("b", "page", 10.5, 10.6, Ending.ANSWERED, 503, "backend_unavailable", None, "b")
LOST = Exchange("c", "page", 9.9, 10.1, Ending.LOST, code="ReadError")
LEFT = Exchange("d", "page", 1.0, 1.1, Ending.LEFT)


def account(*ended: tuple[str, int], **fields: Any) -> Account:
    return replace(Account("gateway", ended), **fields)


def findings(exchanges: list[Exchange], *accounts: Account, excuses: Excuses = EXCUSES) -> list[Finding]:
    return Ledger(exchanges, accounts, TEXTS, excuses).findings()


@pytest.mark.parametrize(
    ("exchanges", "accounts"),
    [
        ([], []),
        ([], [account()]),
        ([GOOD], [account(("a", 200))]),
        ([GOOD, REFUSED], [account(("a", 200), ("b", 503))]),
        ([LOST], [account()]),
        ([LOST], [account(("c", 200))]),
        ([replace(LOST, ending=Ending.PROXY, status=502)], [account(("c", 499))]),
        ([LEFT], [account()]),
        ([LEFT], [account(("d", 499))]),
        ([GOOD], [account(("a", 200), counted={200: 1}, admission=Admission(1, 0, 0))]),
        ([REFUSED], [account(("b", 503), counted={503: 1}, admission=Admission(1, 1, 0))]),
        # A frozen gateway finds the request only after the proxy has got its answer from another one.
        ([replace(GOOD, ended_at=10.5)], [account(("a", 499)), replace(account(("a", 200)), name="other")]),
        # A killed one can't be asked, and what it had not written yet is lost.
        ([GOOD, LOST], [account(complete=False)]),
        ([GOOD], [account(counted={200: 1}, complete=False)]),
    ],
    ids=[
        "nothing",
        "idle",
        "answered",
        "refused",
        "lost",
        "lost but logged",
        "answered by the proxy",
        "left before it was read",
        "left",
        "taken and counted",
        "taken, then refused",
        "found too late",
        "killed",
        "disk full",
    ],
)
def test_what_adds_up_is_no_finding(exchanges: list[Exchange], accounts: list[Account]) -> None:
    assert findings(exchanges, *accounts) == []


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (replace(GOOD, ending=Ending.SILENT), "was not answered"),
        (replace(GOOD, text="other"), "the text of page is 'other', not 'the text'"),
        (replace(GOOD, page="unknown"), "the text of unknown is 'the text', not None"),
        (replace(GOOD, answered_id="z"), "the answer is that of request z"),
        (replace(GOOD, status=503), "was refused with 503 None, which the fault does not explain"),
        (replace(LOST, request_id="a", ended_at=9.95), "ended as lost:ReadError though nothing was cut"),
        (replace(LOST, request_id="a", sent_at=11.1, ended_at=12), "ended as lost:ReadError though nothing was cut"),
    ],
    ids=["silent", "other text", "unknown page", "other answer", "no code", "lost before", "lost after"],
)
def test_a_request_that_ended_otherwise_is_one(exchange: Exchange, reason: str) -> None:
    assert findings([exchange], account(("a", exchange.status or 200))) == [Finding("a", reason)]


def test_a_refusal_for_another_reason_than_the_fault_is_one() -> None:
    bug = replace(REFUSED, status=500, code="internal")
    assert [finding.reason for finding in findings([bug], account(("b", 500)))] == [
        "was refused with 500 internal, which the fault does not explain"
    ]


def test_a_refusal_before_the_fault_is_one() -> None:
    early = replace(REFUSED, sent_at=9.0, ended_at=9.5)
    assert [finding.subject for finding in findings([early], account(("b", 503)))] == ["b"]


@pytest.mark.parametrize("ended", [(), (("a", 503),), (("a", 200), ("a", 200))], ids=["none", "other", "two"])
def test_an_answer_without_exactly_its_line_is_one(ended: tuple[tuple[str, int], ...]) -> None:
    assert "a" in [finding.subject for finding in findings([GOOD], account(*ended))]


def test_a_second_line_from_another_process_is_one_unless_it_was_cut() -> None:
    late = replace(GOOD, ended_at=10.5)
    both = account(("a", 499)), replace(account(("a", 200)), name="other")
    assert findings([late], *both) == []
    assert [finding.subject for finding in findings([late], *both, excuses=Excuses())] == ["a"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"ended": (("a", 200), ("x", 200))}, "logged requests that were not sent: x"),
        ({"counted": {200: 1}, "admission": Admission(0, 1, 0)}, "took 0 and refused 1, but counted {200: 1}"),
        ({"counted": {200: 1}, "admission": Admission(2, 0, 0)}, "took 2 and refused 0, but counted {200: 1}"),
        ({"counted": {200: 1}, "admission": Admission(1, 0, 1)}, "holds 1 slots for nobody"),
        ({"counted": {200: 2}}, "counted {200: 2}, logged {200: 1}"),
        ({"counted": {503: 1}}, "counted {503: 1}, logged {200: 1}"),
        ({"counted": {200: 0}, "complete": False}, "counted {200: 0}, clients got {200: 1}"),
        ({"counted": {200: 2}, "complete": False}, "counted 2 requests, 1 were sent"),
    ],
    ids=["stranger", "not taken", "not ended", "held", "one too many", "other status", "too few", "too many"],
)
def test_an_account_that_contradicts_itself_is_one(fields: dict[str, object], reason: str) -> None:
    assert findings([GOOD], account(("a", 200), **fields)) == [Finding("gateway", reason)]


def test_a_line_that_is_logged_twice_is_one_for_the_process_too() -> None:
    found = findings([GOOD], account(("a", 200), ("a", 200)))
    assert Finding("gateway", "logged the end of these more than once: a") in found


def test_many_ids_are_not_all_shown() -> None:
    strangers = [(str(number), 200) for number in range(10, 17)]
    assert findings([], account(*strangers)) == [
        Finding("gateway", "logged requests that were not sent: 10, 11, 12, 13, 14 and 2 more")
    ]


@pytest.mark.parametrize(
    ("exchange", "outcome", "failed"),
    [
        (GOOD, "ok", False),
        (REFUSED, "backend_unavailable", True),
        (LOST, "lost:ReadError", True),
        (LEFT, "left:", False),
    ],
)
def test_an_outcome_is_one_word(exchange: Exchange, outcome: str, failed: bool) -> None:
    assert (exchange.outcome, exchange.failed) == (outcome, failed)
