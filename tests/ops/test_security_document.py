"""Documents name tests and folders that there are; and one promise of docs/security.md that nothing else tests."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("security.md", "deployment.md", "scaling.md")
CLIENT_SIDE = ("client", "local.py", "read_command.py", "__main__.py", "doctor")
"""Of the package, what runs where a client runs, or asks one's own service."""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_a_document_names_is_there(document):
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|deploy|requirements|gateway|triton_models)/[\w./@-]+)`?", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_service_has_nothing_to_fetch_an_address_with():
    fetching = re.compile(r"(?m)^\s*(?:from|import) (?:httpx|requests|aiohttp|http\.client|urllib\.request)\b")
    package = ROOT / "gateway"
    service = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in CLIENT_SIDE]
    assert [path.name for path in service if fetching.search(path.read_text(encoding="utf-8"))] == []
