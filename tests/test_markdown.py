"""The documents hold together: their links lead somewhere, and decisions have numbers of their own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(document):
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_row_of_a_table_is_in_a_table(document):
    """A row after an empty line is shown as the characters that it is."""
    blocks = re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```$", "", document.read_text(encoding="utf-8")))
    tables = [lines for block in blocks if (lines := [line for line in block.splitlines() if line.startswith("|")])]
    assert [rows[0] for rows in tables if len(rows) < 2 or not re.fullmatch(r"\|[-:| ]+\|", rows[1])] == []


def test_decisions_are_numbered_without_gaps_as_their_titles_say():
    titles = [re.match(r"# (\d+)\. ", path.read_text(encoding="utf-8")) for path in DECISIONS]
    assert [int(title[1]) for title in titles if title] == list(range(1, len(DECISIONS) + 1))
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_the_readme_is_read_in_a_minute():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120
