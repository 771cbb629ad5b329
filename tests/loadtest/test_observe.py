"""The incident's configurations are the deployed ones, with shorter times; what has no data is found."""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from loadtest.observe import scaled
from loadtest.observe.asking import Answer, Drawn, Series, named, panels_without_data
from loadtest.observe.boards import board, quantity
from loadtest.observe.chart import spans
from loadtest.observe.incident import Record
from loadtest.observe.programs import missing
from tests.ops.alerts import RULES
from tests.ops.dashboards import Query, queries


@pytest.mark.parametrize(
    ("deployed", "shorter"),
    [
        ("", ""),
        ("rate(x[5m])", "rate(x[15s])"),
        ("for: 15s", "for: 750ms"),
        ("x[1h] offset 24h", "x[180s] offset 4320s"),
        ("record: ocr:request_errors:ratio_rate5m", "record: ocr:request_errors:ratio_rate5m"),
    ],
)
def test_windows_are_shorter_and_names_are_not(deployed, shorter):
    assert scaled.rules(deployed) == shorter


def test_nothing_but_times_is_different_in_the_rules():
    for path in RULES:
        text = path.read_text()
        assert re.sub(r"\d+(ms|[smhd])\b", "", scaled.rules(text)) == re.sub(r"\d+(ms|[smhd])\b", "", text)


def test_receivers_are_elsewhere_and_told_sooner():
    deployed = "group_interval: 2m\n- url: http://127.0.0.1:9095/page\n"
    assert scaled.alertmanager(deployed, "http://here:1") == "group_interval: 6s\n- url: http://here:1/page\n"


def answer(panel, *values, needs_gpu=False):
    return Answer(Query("board", panel, "", "", needs_gpu), values)


def test_a_panel_has_data_if_one_of_its_queries_has_and_a_gpus_needs_none():
    assert panels_without_data([]) == set()
    answers = [answer("a"), answer("a", 1.0), answer("b"), answer("c", needs_gpu=True)]
    assert panels_without_data(answers) == {"board / b"}


def test_a_state_is_a_bar_from_when_it_holds_until_it_does_not():
    assert list(spans([])) == []
    assert list(spans([(1, 0.0), (2, 1.0), (3, 1.0), (4, 0.0), (5, 1.0), (6, 1.0)])) == [(2, 4), (5, 6)]


def test_a_program_that_is_missing_is_named_with_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [line.rpartition(" ")[2] for line in missing()] == ["prometheus", "prometheus-alertmanager"]


QUERY = Query("board", "Requests", "{{status}}", "", needs_gpu=False, unit="reqps")
DRAWN = Drawn(QUERY, (Series("200", [(129, 2.0), (130, 4.0)]), Series("503", [(100, 0.0), (130, -9.0)])))


def test_a_value_before_a_moment_is_the_latest_even_if_a_scrape_is_missing():
    assert Drawn(QUERY, ()).before(120.0).values == ()
    assert DRAWN.before(109.0).values == (0.0,)
    assert DRAWN.before(139.0).values == (4.0, -9.0)


def test_a_legend_has_the_values_of_its_labels():
    assert named("p95", {"stage": "decode"}) == "p95"
    assert named("{{stage}} of {{instance}}", {"stage": "decode"}) == "decode of "


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.0, "s", "0 s"),
        (0.0042, "s", "4.2 ms"),
        (2.5e6, "bytes", "2.5 MB"),
        (0.25, "percentunit", "25%"),
        (0.00128, "percentunit", "0.128%"),
        (12, "none", "12"),
        (0.5, "none", "0.5"),
        (2500.0, "µs", "2.5 ms"),
    ],
)
def test_values_are_written_as_people_write_them(value, unit, expected):
    assert quantity(value, unit) == expected


def test_every_unit_of_a_dashboard_can_be_written():
    assert all(quantity(1.0, query.unit) for query in queries())


def test_a_board_draws_each_series_within_its_panel_and_names_what_needs_a_gpu():
    record = Record(100.0, 110.0, 120.0, 130.0, None, None, "", [], frozenset(), Counter(), {}, Path())
    gpu = Drawn(Query("board", "GPU", "", "", needs_gpu=True), ())
    tree = ET.fromstring(board(record, [DRAWN, gpu]))
    lines = [element.attrib["points"] for element in tree.iter() if "points" in element.attrib]
    assert lines == ["377.3,76.0 388.0,24.0", "68.0,128.0", "388.0,128.0"], "a line ends where nothing is known"
    texts = {element.text for element in tree.iter() if element.tag.endswith("text")}
    assert {"Requests", "200", "503", "4 /s", "GPU", "needs a GPU"} <= texts
