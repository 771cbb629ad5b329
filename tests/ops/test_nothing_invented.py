"""No file of deploy/ and no document uses what Triton does not have."""

import re
from pathlib import Path

import pytest

from tests.ops import deployed, not_in_triton

ROOT = Path(__file__).parents[2]
BINARY = {".png", ".svg", ".jsonl"}
FILES = [path for path in sorted(deployed.DEPLOY.rglob("*")) if path.is_file()]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("flag", not_in_triton.FLAGS)
def test_no_flag_is_used_that_triton_does_not_have(flag):
    assert [path.name for path in [*FILES, *DOCUMENTS] if f"--{flag}" in path.read_text()] == []


@pytest.mark.parametrize("metric", not_in_triton.METRICS)
def test_no_metric_is_asked_for_that_triton_does_not_have(metric):
    word = re.compile(rf"(?<!\w){metric}(?!\w)")
    assert [path.name for path in [*FILES, *DOCUMENTS] if word.search(path.read_text())] == []


def test_metrics_of_triton_are_not_asked_for_by_labels_that_they_do_not_have():
    selector = re.compile(rf"nv_\w+{{[^}}]*\b({'|'.join(not_in_triton.LABELS)})\b")
    assert [path.name for path in [*FILES, *DOCUMENTS] if selector.search(path.read_text())] == []


def test_readiness_of_a_model_is_not_asked_where_it_is_not():
    asked = re.compile(r"/v2/repository/models/[^/\s]+/ready")
    assert [path.name for path in [*FILES, *DOCUMENTS] if asked.search(path.read_text())] == []
