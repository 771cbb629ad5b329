"""From results to lines, tables and a picture."""

import json
import xml.etree.ElementTree as ET

import pytest

from loadtest.accuracy.circumstances import ROOT
from loadtest.document import replace_generated
from tests.drills import report, timeline
from tests.drills.campaign import MARKERS, Outcome
from tests.drills.course import Course
from tests.drills.fault import Fault
from tests.drills.faults import FAULTS, SHORT
from tests.drills.ledger import Exchange, Finding
from tests.drills.made_drills import GONE, LOST, OK, REFUSED, course, result, sent
from tests.drills.watch import Sight

SVG = "{http://www.w3.org/2000/svg}"
FAULTY: dict[str, Fault] = {"broken": FAULTS["none"], "well": FAULTS["none"]}

WELL = course(sent(OK, 5), sent(OK, 15))
BROKEN = course(
    sent(OK, 5),
    sent(REFUSED, 12),
    sent(REFUSED, 13, 2.0),
    sent(LOST, 14),
    sent(GONE, 15),
    sent(OK, 22),
    ready=(Sight(11.0, "gateway", False),),
)
RESULTS = [
    result("broken", 1, BROKEN, Finding("id-1", "was not answered")),
    result("well", 1, WELL),
    result("broken", 2, WELL),
]


def test_a_line_says_when_and_how_many() -> None:
    line = json.loads(report.json_line(RESULTS[0]))
    assert line == {
        "fault": "broken",
        "repeat": 1,
        "t_inject": 10.0,
        "t_detect": 11.0,
        "t_heal": 20.0,
        "t_recover": 22.1,
        "sent": 6,
        "ok": 2,
        "failed": {"backend_unavailable": 2, "lost:ReadError": 1},
        "left": 1,
        "unexplained": 1,
        "findings": ["id-1: was not answered"],
        "limits": [
            {"goal": "O10", "figure": "requests that failed", "value": 3, "at_most": 0, "met": False},
            {"goal": "O9", "figure": "time to notice", "value": None, "at_most": 1.5, "met": False},
        ],
        "client_lag": 0.01,
    }


def test_what_did_not_happen_has_no_time() -> None:
    line = json.loads(report.json_line(result("none", 1, course())))
    assert (line["t_detect"], line["t_recover"], line["sent"]) == (None, None, 0)


def test_the_summary_counts_all_drills() -> None:
    assert report.summary(RESULTS) == (
        "**1 unexplained of 10 requests** in 3 drills of 2 faults. Goals met: 2 of 6. "
        "The client itself was late by up to 10 ms."
    )


def test_repeats_of_a_fault_share_a_row() -> None:
    rows = report.fault_table(RESULTS, FAULTY).splitlines()[2:]
    assert rows == [
        "| `broken` | nothing | 2 | 8 | 4 | 2 backend_unavailable, 1 lost:ReadError, 1 left | 1 |  | 10.10 s |",
        "| `well` | nothing | 1 | 2 | 2 |  | 0 |  | 0.00 s |",
    ]


def test_a_goal_is_judged_by_the_worst_repeat() -> None:
    rows = report.goal_table(RESULTS).splitlines()[2:]
    assert rows == [
        "| `broken` | O10 | requests that failed | 0 | 3 | **1 of 2** |",
        "| `broken` | O9 | time to notice | 1.50 s | not seen | **0 of 2** |",
        "| `well` | O10 | requests that failed | 0 | 0 | yes |",
        "| `well` | O9 | time to notice | 1.50 s | not seen | **0 of 1** |",
    ]


def test_what_is_unexplained_stands_in_the_report() -> None:
    assert "* broken 1: id-1 was not answered" in report.markdown(RESULTS, FAULTY, "Here.").splitlines()
    assert "Unexplained:" not in report.markdown(RESULTS[1:], FAULTY, "Here.")


def test_no_drills_make_a_report_too() -> None:
    assert "**0 unexplained of 0 requests**" in report.markdown([], {}, "Here.")


@pytest.mark.parametrize(
    ("outcome", "good"),
    [
        (Outcome(), True),
        (Outcome([RESULTS[1]]), True),
        (Outcome([RESULTS[0]]), False),
        (Outcome([result("broken", 1, BROKEN)]), False),
        (Outcome(not_made=["broken 1: why"]), False),
    ],
    ids=["nothing", "slow to notice", "unexplained", "failed", "not made"],
)
def test_what_fails_the_drills(outcome: Outcome, good: bool) -> None:
    assert outcome.good is good


def texts_of(chart: str) -> list[str | None]:
    return [text.text for text in ET.fromstring(chart).iter(f"{SVG}text")]


def heights(chart: str, word: str) -> list[float]:
    """Of the bars in this colour, the legend's square left out."""
    drawn = ET.fromstring(chart).iter(f"{SVG}rect")
    return [float(bar.get("height", 0)) for bar in drawn if bar.get("fill") == timeline.COLOURS[word]][1:]


def test_the_picture_has_a_strip_for_each_fault() -> None:
    assert {"broken", "well"} <= set(texts_of(timeline.chart(report.typical(RESULTS))))


def test_the_picture_shows_the_repeat_that_failed_most() -> None:
    assert report.typical([RESULTS[2], RESULTS[0]])["broken"] is BROKEN


def test_no_drills_give_a_picture_of_a_legend_alone() -> None:
    assert texts_of(timeline.chart({})) == list(timeline.COLOURS)


@pytest.mark.parametrize("made", [course(), WELL, BROKEN], ids=["empty", "well", "broken"])
def test_every_request_is_in_one_bin(made: Course) -> None:
    assert sum(stack.total() for stack in timeline.counted(made)) == len(made.exchanges)


def test_the_tallest_stack_fills_the_strip() -> None:
    two = course(sent(OK, 5), sent(OK, 5.01), sent(REFUSED, 15))
    drawn = timeline.chart({"two": two})
    assert heights(drawn, "page") == [timeline.BARS_HEIGHT]
    assert heights(drawn, "refused at once") == [timeline.BARS_HEIGHT / 2]


@pytest.mark.parametrize(
    ("exchange", "word"),
    [
        (sent(OK, 5), "page"),
        (sent(REFUSED, 5, 0.02), "refused at once"),
        (sent(REFUSED, 5, 1.99), "refused at the deadline"),
        (sent(LOST, 5), "lost, or answered by the proxy"),
        (sent(GONE, 5), "left"),
    ],
)
def test_a_request_has_the_colour_of_its_end(exchange: Exchange, word: str) -> None:
    assert timeline.word_for(exchange, deadline_s=2.0) == word


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (-2, 8, [*range(-2, 9)]),
        (-2.1, 20, [-2, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]),
        (-2, 200, [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]),
    ],
)
def test_ticks_are_round_and_few(begin: float, end: float, expected: list[int]) -> None:
    assert timeline.ticks(begin, end) == expected


def test_the_short_drills_are_in_the_table() -> None:
    assert set(SHORT) <= FAULTS.keys()


def test_the_projects_document_has_the_markers_and_every_fault() -> None:
    text = (ROOT / "docs" / "drills.md").read_text(encoding="utf-8")
    assert "new" in replace_generated(text, "new", MARKERS)
