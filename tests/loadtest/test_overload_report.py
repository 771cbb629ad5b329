"""The overload's report, picture, options and document."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from overload_examples import stand

from loadtest.overload.__main__ import DOCUMENT, parser, to_options
from loadtest.overload.campaign import MARKERS
from loadtest.overload.chart import chart
from loadtest.overload.goals import judge
from loadtest.overload.report import HEAD, json_report, markdown

BOTH = [stand("alone"), stand("behind nginx")]
GOALS = {result.name: list(judge(result, 1.0, 200_000_000)) for result in BOTH}


def test_the_report_has_a_row_for_each_stream_and_each_goal() -> None:
    lines = markdown(BOTH, GOALS, "Here.").splitlines()
    assert lines[2] == "The peak, in pages a second: 100 alone, 100 behind nginx."
    assert lines[4].startswith("Processor time alone: 9.8 ms a page, 0.0 ms a refusal.")
    row = "| alone | 10 x | 100 | 99.0 | 99% | 100 ms | 20 ms | 0 | 0 | 97% | 230 MB | 30 MB | 5 ms |"
    assert row in lines
    assert row.count("|") == HEAD.count("|")
    assert "| O1 | behind nginx | goodput at 5 x the peak >= 90% of it | 99% | met |" in lines


def test_a_missed_goal_is_easily_seen() -> None:
    slow = stand(refused_p99_s=0.3)
    assert "| O3 | alone | p99 of refusals at 10 x <= 50 ms | 300 ms | **missed** |" in markdown(
        [slow], {"alone": list(judge(slow, 1.0, 200_000_000))}, ""
    )


def test_programs_get_the_same() -> None:
    report = json.loads(json_report(BOTH, GOALS))
    assert [one["name"] for one in report["stands"]] == ["alone", "behind nginx"]
    assert report["goals"]["alone"][0]["met"] is True


@pytest.mark.parametrize("results", [BOTH[:1], BOTH], ids=["one", "two"])
def test_the_picture_has_a_line_for_each_stand_in_each_panel(results: list[object]) -> None:
    root = ET.fromstring(chart(results))  # type: ignore[arg-type]
    assert len(root.findall("{*}polyline")) == 3 * len(results)


def test_the_picture_shows_more_load_further_to_the_right() -> None:
    line = ET.fromstring(chart(BOTH)).find("{*}polyline")
    assert line is not None
    places = [float(point.split(",")[0]) for point in line.attrib["points"].split()]
    assert places == sorted(places)
    assert len(places) == 4


@pytest.mark.parametrize(
    ("arguments", "stands", "document"),
    [
        ([], ["alone", "nginx"], DOCUMENT),
        ([], ["alone"], None),
        (["--only", "alone"], ["alone", "nginx"], None),
        (["--seconds", "3"], ["alone", "nginx"], None),
        (["--no-document"], ["alone", "nginx"], None),
    ],
    ids=["all", "no nginx here", "one", "short", "on request"],
)
def test_only_a_full_run_is_written_into_the_document(
    arguments: list[str], stands: list[str], document: Path | None
) -> None:
    assert to_options(parser().parse_args(arguments), stands).document == document


def test_the_document_has_a_place_for_the_overload() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(MARKERS.begin) == text.count(MARKERS.end) == 1
