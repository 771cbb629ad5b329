"""docs/api.md and docs/answers.md say what the code does: options, problems, warnings, addresses, answers.

What their examples answer is tested on a real gateway: tests/e2e/test_examples_of_documents.py.
"""

import ast
import json
import re
from pathlib import Path
from typing import get_args

import pytest
from web_fakes import app_with, post

from gateway.formats.table import FORMATS, FormatName
from gateway.settings import Settings
from gateway.web.options import accepts, options_for
from gateway.web.problems import PROBLEMS, Problem
from gateway.web.schemas import OcrOut
from gateway.web.services import RequestLimits

ROOT = Path(__file__).parents[2]
DOCUMENT = "\n".join((ROOT / "docs" / name).read_text() for name in ("api.md", "answers.md"))
COMMANDS = "\n".join(re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL))


def example_below(heading):
    """The first block of JSON after a heading."""
    _, _, below = DOCUMENT.partition(f"\n{heading}\n")
    return re.search(r"```json\n(.*?)```", below, re.DOTALL).group(1)


def table_below(heading):
    """Rows of the first table after a heading, as lists of cells without their backquotes."""
    _, _, below = DOCUMENT.partition(f"{heading}\n")
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE).group()
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split(" | ")] for row in table.splitlines()[2:]]


def default_of(setting):
    return Settings.model_fields[setting].default


def written(default):
    return f"{default:g}" if type(default) in (int, float) else json.dumps(default).strip('"')


def warning_codes():
    """The first argument of every `PageWarning(...)` in the gateway."""
    for path in (ROOT / "gateway").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            makes_one = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "PageWarning"
            if makes_one and node.args:  # without, it is one that came from another process
                assert isinstance(node.args[0], ast.Constant), f"{path}: the code of a warning must be written there"
                yield node.args[0].value


def properties_of_options():
    limits = RequestLimits(default_of("max_body_bytes"), default_of("timeout_s"), default_of("max_timeout_s"))
    return options_for(limits).model_json_schema()["properties"]


def test_every_option_is_described_with_its_range_and_default_in_the_same_words():
    assert table_below("### Options") == [
        [name, accepts(schema), written(schema["default"]), schema["description"]]
        for name, schema in properties_of_options().items()
    ]


def test_every_format_is_described_with_its_type():
    table = {row[0]: row[1:] for row in table_below("## Formats")}
    own = {name: [one.media_type, one.description] for name, one in FORMATS.items()}
    assert {name: table[name] for name in own} == own
    assert list(table) == list(get_args(FormatName)) == ["json", "ndjson", *FORMATS]


def test_every_problem_is_described_as_in_the_table():
    assert table_below("## Problems") == [
        [str(kind.status), code, kind.title, kind.advice] for code, kind in PROBLEMS.items()
    ]


def test_every_warning_that_the_gateway_can_give_is_described():
    assert {code for code, _ in table_below("## Warnings")} == set(warning_codes())


def test_every_address_is_described():
    described = set(re.findall(r"`GET (/[^`]*)`", DOCUMENT)) | set(re.findall(r"`POST (/[^`]*)`", DOCUMENT))
    routes = set(app_with().openapi()["paths"])
    assert described == routes | {"/docs", "/openapi.json"}


def test_the_limit_of_the_body_is_the_settings():
    assert f"may have {default_of('max_body_bytes'):,} bytes (setting `OCR_MAX_BODY_BYTES`)" in DOCUMENT


def test_every_option_and_every_format_has_an_example():
    missing = [name for name in properties_of_options() if f"{name}=" not in COMMANDS and f'"{name}"' not in COMMANDS]
    assert missing == []
    assert [name for name in ("text", *FORMATS) if f"format={name}" not in COMMANDS] == []


def test_the_answer_shown_is_one_that_could_be_sent():
    shown = example_below("## JSON")
    assert OcrOut.model_validate_json(shown).model_dump(mode="json") == json.loads(shown)


async def test_the_problem_shown_is_the_one_that_is_sent():
    shown = json.loads(example_below("## Problems"))
    sent = await post(content=b"x", params={"min_scor": "1"}, headers={"x-request-id": shown["request_id"]})
    assert sent.json() == shown
    assert Problem.model_validate(shown)


@pytest.mark.parametrize("setting", ["max_body_bytes", "timeout_s", "max_timeout_s"])
def test_settings_are_called_by_their_names(setting):
    assert f"`OCR_{setting.upper()}`" in DOCUMENT
