import asyncio
from pathlib import Path

import numpy as np
import psutil
import pytest

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.readings import Line, Reading
from loadtest.accuracy.scoring import FIGURES
from loadtest.peers.contestants import Contestant, api_lines
from loadtest.peers.measure import MIB, Plan, Turn, measure, memory_of
from loadtest.peers.report import Figures, chart, figures_of, report, verdicts

QUAD = ((0.0, 0.0), (9.0, 0.0), (9.0, 5.0), (0.0, 5.0))
COUNTS = np.ones((4, len(FIGURES), 2)) * (0.75, 1.0)
COUNTS[:, list(FIGURES).index("char_precision")] = 0
PAGES = [Path("a"), Path("b"), Path("c")]


def contestant(name: str, asked: list[str]) -> Contestant:
    async def ask(image: Path) -> tuple[Line, ...]:
        asked.append(f"{name}{image}")
        await asyncio.sleep(0)
        if str(image) == "b":
            raise ValueError("no")
        return (Line(quad=QUAD, text=name, score=1.0),)

    return Contestant(name, ask, frozenset())


def figures(speed: float, seconds: float, *, lost: float = 0.0, pages: int = 4) -> Figures:
    counts = COUNTS.copy()
    counts[:pages, list(FIGURES).index("char_recall"), 0] -= lost
    return Figures([speed], [seconds] * 20, 100.0, 0, counts)


async def test_contestants_take_turns_in_alternating_order_and_read_each_page_once():
    asked: list[str] = []

    turns = await measure([contestant("x", asked), contestant("y", asked)], PAGES, 0, Plan((1, 2), 2))

    order = [asked[index][0] for index in range(0, len(asked), len(PAGES))]
    assert "".join(order) == "xyxyyxyx"
    assert {clients: {name: len(found) for name, found in by_name.items()} for clients, by_name in turns.items()} == {
        1: {"x": 2, "y": 2},
        2: {"x": 2, "y": 2},
    }
    assert sorted(turns[2]["x"][0].readings) == PAGES


async def test_a_page_that_fails_is_counted_as_failed_and_not_as_read():
    turns = await measure([contestant("x", [])], PAGES, 0, Plan((1,), 1))

    (turn,) = turns[1]["x"]
    assert turn.readings[Path("b")].error == "ValueError: no"
    assert turn.images_per_s * turn.seconds == pytest.approx(2)
    assert figures_of([turn], COUNTS).failed == 1


def test_the_api_servers_answer_becomes_lines():
    assert api_lines({}) == ()
    answer = {"0": {"rec_txt": "Total", "dt_boxes": [list(corner) for corner in QUAD], "score": 0.5}}
    assert api_lines(answer) == (Line(quad=QUAD, text="Total", score=0.5),)


def test_figures_join_the_rounds():
    turns = [
        Turn(2.0, 10 * MIB, {Path("a"): Reading(seconds=2.0)}),
        Turn(1.0, 30 * MIB, {Path("a"): Reading(seconds=1.0)}),
    ]

    joined = figures_of(turns, COUNTS)

    assert (joined.images_per_s, joined.latencies_s, joined.peak_mib) == ([0.5, 1.0], [1.0, 2.0], 30.0)
    assert joined.quantile_s(0.5) == 1.5


@pytest.mark.parametrize(
    ("own", "met"),
    [
        (figures(1.4, 0.5), [True, True, True]),
        (figures(1.2, 0.5), [False, True, True]),
        (figures(1.4, 0.9), [True, False, True]),
        (figures(1.4, 0.5, lost=0.01), [True, True, False]),
        (figures(1.4, 0.5, lost=0.01, pages=1), [True, True, True]),
    ],
)
def test_goals_are_judged_beside_the_api_server_at_eight_clients(own: Figures, met: list[bool]):
    results = {8: {"gateway": own, "rapidocr_api": figures(1.0, 1.0)}}

    assert [verdict.met for verdict in verdicts(results)] == met
    assert verdicts({1: results[8]}) == []


def test_the_report_has_a_row_for_each_contestant_and_says_what_was_missed():
    results = {8: {"gateway": figures(1.2, 0.5), "rapidocr_api": figures(1.0, 1.0)}}
    circumstances = Circumstances("make bench-peers", "2026-12-01", {"gateway": "1"}, "small", "2 cores")

    text = report(results, circumstances, 3)

    assert "| 8 | gateway | 1.20 (1.20-1.20) | 0.50 | 0.50 | 100 | 0 | 0.7500 | 0.7500 |  | 0.7500 |" in text
    assert "images/s >= 1.3 times | 1.20 | **missed** |" in text
    assert chart(results).count("<polyline") == 2


def test_memory_is_that_of_the_processes_and_none_of_those_that_are_gone():
    assert memory_of([psutil.Process()]) > MIB
    assert memory_of([]) == 0
