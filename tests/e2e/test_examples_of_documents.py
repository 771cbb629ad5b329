"""Every example of the documents for callers is run, and answers what is shown below it.

A block `sh` is run by bash and a block `python` by Python, in a folder with the files that they name, on a real
gateway. A block `text` or `json` right below it is what it prints: texts as they are; of JSON the members and their
types, and whatever a picture says. Curl fails wherever a problem is the answer, unless a problem is what is shown.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from example_files import write_files

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

DOCUMENTS = Path(__file__).parents[2] / "docs"
PRINTED_ADDRESS = "http://127.0.0.1:8080"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n```(text|json)\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
AS_THEY_ARE = ("text", "code", "detail", "title", "event")
STAGES = "stages_ms"
"""Has what there was to do."""

PROBLEM = 22
"""Curl's exit code."""

BEFORE_PYTHON = """
import base64
import httpx
hooks = {"response": [lambda answer: answer.raise_for_status()]}
requests = httpx.Client(timeout=60, trust_env=False, event_hooks=hooks)  # has the same calls
data = open("photo.jpg", "rb").read()
open("page.png", "wb").write(open("line.png", "rb").read())
"""
"""What the short examples of the dialects take for granted."""


@dataclass(frozen=True)
class Example:
    """A block, and what is shown below it.

    Attributes:
        place: document and number.
        language: sh or python.
        code: with the address as it is printed.
        kind: of what is shown: text, json or nothing.
        shown: what is.
    """

    place: str
    language: str
    code: str
    kind: str
    shown: str


def examples():
    """All of them."""
    for name in ("api.md", "answers.md", "dialects.md"):
        for number, match in enumerate(BLOCK.finditer((DOCUMENTS / name).read_text()), 1):
            yield Example(f"{name} {number}", *match.groups(default=""))


@pytest.fixture(scope="module")
def folder(gateway, tmp_path_factory):
    """The files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    write_files(folder)
    (folder / ".curlrc").write_text("fail-with-body\n")
    answer = httpx.post(f"{gateway}/v1/ocr?format=pdf", content=(folder / "scan.pdf").read_bytes(), timeout=60)
    (folder / "searchable.pdf").write_bytes(answer.raise_for_status().content)
    return folder


def command_of(example, gateway):
    code = example.code.replace(PRINTED_ADDRESS, gateway)
    if example.language == "python":
        return [sys.executable, "-c", BEFORE_PYTHON + code]
    code = code.replace("ocr-gateway read", f"ocr-gateway read --url {gateway}")
    return ["bash", "-euo", "pipefail", "-c", code]


def shape_of(value):
    """Members and types, and what a picture says; a list is like its first item."""
    if isinstance(value, dict):
        return {
            name: one if name in AS_THEY_ARE else shape_of(one) for name, one in value.items() if name != "stages_ms"
        }
    if isinstance(value, list):
        return [shape_of(one) for one in value[:1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.place)
def test_an_example_does_what_it_says(example, folder, gateway):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command_of(example, gateway),
        check=False,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "CURL_HOME": str(folder)},
        timeout=120,
    )
    assert done.returncode == (PROBLEM if "/problems/" in example.shown else 0), done.stderr.decode()
    printed = done.stdout.decode()
    if example.kind == "text":
        assert printed.splitlines() == example.shown.splitlines()
    elif example.kind == "json":
        assert shape_of(json.loads(printed)) == shape_of(json.loads(example.shown))


def test_a_picture_answers_with_the_values_that_are_shown(folder, gateway):
    [shown] = [json.loads(example.shown) for example in examples() if example.place == "answers.md 1"]
    answer = httpx.post(f"{gateway}/v1/ocr", content=(folder / "photo.jpg").read_bytes(), timeout=60).json()
    for line, its in zip(answer["pages"][0].pop("lines"), shown["pages"][0].pop("lines"), strict=True):
        np.testing.assert_allclose(line.pop("quad"), its.pop("quad"), atol=0.3)
        assert line.pop("score") == pytest.approx(its.pop("score"), abs=0.01)
        assert line.pop("detection_score") == pytest.approx(its.pop("detection_score"), abs=0.01)
        assert line == its
    assert {**answer, "request_id": ""} == {**shown, "request_id": ""}


def test_the_documents_have_examples():
    assert len(list(examples())) > 20
