"""Alerts, runbook and dashboards belong together; what takes promtool is in `make ops-check`."""

import re
from pathlib import Path

import pytest

from gateway.web.routes import WORK
from loadtest.accuracy.circumstances import ROOT
from tests.ops import alerts, dashboards, metric_names
from tests.ops.programs import CheckFailed


def test_every_alert_has_its_cases_and_its_section_and_the_runbook_no_other():
    alerts.completeness()


def test_the_objectives_count_every_address_that_reads_images():
    """Also those of other services' clients: with these alone nobody would be paged otherwise."""
    texts = [path.read_text() for path in (*alerts.RULES, dashboards.BUILD)]
    routes = {frozenset(one.split("|")) for text in texts for one in re.findall(r'route=~"([^"]+)"', text)}
    assert routes == {WORK}


SELECTED = re.compile(r'\b(reason|state|outcome|code|line|priority|direction|level|kind)(?:=~|=|!=|!~)"([^"]+)"')


def test_every_label_that_is_asked_for_is_one_that_the_gateway_gives():
    """An alert on a state that there is not would be tried on made-up series, and never fire."""
    source = "\n".join(path.read_text() for path in (ROOT / "gateway").rglob("*.py"))
    given = set(re.findall(r"""["'](\w+)["']""", source))
    texts = [path.read_text() for path in (*alerts.RULES, dashboards.BUILD, *(ROOT / "docs").glob("*.md"))]
    asked = {value for text in texts for _, values in SELECTED.findall(text) for value in values.split("|")}
    assert {"silent", "line_full", "unexpected_output", "died"} <= asked
    assert asked - given == set()


def test_a_section_without_its_alert_is_found(tmp_path, monkeypatch):
    runbook = tmp_path / "runbook.md"
    runbook.write_text(alerts.RUNBOOK.read_text() + "\n### OcrNothing\n")
    monkeypatch.setattr(alerts, "RUNBOOK", runbook)
    with pytest.raises(CheckFailed, match="OcrNothing is no alert"):
        alerts.completeness()


def test_the_dashboards_are_what_their_tables_make():
    dashboards.built()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("rate(ocr_known_total[5m])", set()),
        ("`ocr_unknown_total`", {"ocr_unknown_total"}),
        ("nv_gpu_utilization", set()),
        ("nv_gpu_status > 0", {"nv_gpu_status"}),
        ("ocr_wait_seconds_bucket / ocr_known_total_bucket", {"ocr_known_total_bucket"}),
        ("ocr:chunk_rows:mean_5m + ocr:chunk_rows:mean_9m", {"ocr:chunk_rows:mean_9m"}),
        ("requirements/ocr_gateway.txt, docs/ocr_x.md, ocr_*", set()),
    ],
)
def test_metrics_that_nobody_has_are_found(tmp_path: Path, text, expected):
    known = metric_names.names_in("# TYPE ocr_known_total counter\n# TYPE ocr_wait_seconds histogram\n")
    path = tmp_path / "some.yml"
    path.write_text(text)
    assert metric_names.unknown(path, known) == expected
