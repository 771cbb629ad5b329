"""docs/operations.md tells what every failure of Triton is taken for."""

import re
from pathlib import Path

from gateway.inference.failures import BY_CODE, BY_TEXT, CLOSED

DOCUMENT = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def test_every_meaning_is_described_with_its_code_and_no_other():
    _, _, below = DOCUMENT.partition("## What a failure of Triton is taken for")
    described = re.findall(r"^\| ([^|]+) \| `(\w+)` \|", below, re.MULTILINE)
    meanings = {CLOSED, *BY_CODE.values(), *(meaning for _, meaning in BY_TEXT)}
    assert sorted(described) == sorted((meaning.words, meaning.error.code) for meaning in meanings)
