"""The incident's configurations are the deployed ones, with shorter times; what has no data is found."""

import re

import pytest

from loadtest.observe import scaled
from loadtest.observe.asking import Answer, panels_without_data
from loadtest.observe.chart import spans
from loadtest.observe.programs import missing
from tests.ops.alerts import RULES
from tests.ops.dashboards import Query


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
