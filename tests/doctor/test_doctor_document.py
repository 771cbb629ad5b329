"""docs/doctor.md has a line for each check, and a symptom that leads to it."""

import re
from pathlib import Path

from gateway.doctor.table import CHECKS

TEXT = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\*\*)?`([a-z-]+)`(?:\*\*)? \| (.*?) \| .+ \|$", re.MULTILINE)


def test_every_check_is_described_with_its_question_and_whether_it_decides_and_no_other():
    described = {(name, question, bool(bold)) for bold, name, question in ROW.findall(TEXT)}
    assert described == {(check.name, check.question, check.decides) for check in CHECKS}


def test_every_check_explains_something_that_somebody_sees_and_no_other_is_named():
    symptoms = TEXT.partition("## What you see")[2].partition("## The checks")[0]
    names = set(re.findall(r"`((?:triton|log|gateway|machine|fleet)-[a-z-]+)`", symptoms))
    assert names == {check.name for check in CHECKS}


def test_names_are_unique():
    assert len({check.name for check in CHECKS}) == len(CHECKS)
