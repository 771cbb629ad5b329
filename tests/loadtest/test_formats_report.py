import ast
import json
from pathlib import Path

import pytest

from loadtest.formats.gateway_side import Answer
from loadtest.formats.odd_files import OddFile, read_odd_files
from loadtest.formats.peers_side import Outcome, Outcomes
from loadtest.formats.report import Row, table

SEEN = Outcomes(rapidocr=Outcome(lines=2, text="one"), opencv=Outcome(size=(30, 20)))
FAILED = Outcomes(rapidocr=Outcome(error="ValueError: " + "x" * 80), opencv=Outcome(error="None"))


def odd(expect_class, *words, **options):
    return OddFile(Path("odd/a.png"), "a | b", expect_class, words, options)


@pytest.mark.parametrize(
    ("expect_class", "status", "text", "right"),
    [
        ("err", 415, "", True),
        ("err", 200, "", False),
        ("err", 500, "", False),
        ("err_or_ok", 422, "", True),
        ("err_or_ok", 200, "", True),
        ("err_or_ok", 502, "", False),
        ("ok_or_415", 415, "", True),
        ("ok_or_415", 422, "", False),
        ("ok_empty", 200, "", True),
        ("ok_empty", 422, "", False),
        ("ok_text", 200, "one two three", True),
        ("ok_text", 200, "o ne TWO", True),
        ("ok_text", 200, "one", False),
        ("ok_text_or_empty", 200, "", True),
        ("ok_text_or_empty", 503, "", False),
    ],
)
def test_what_is_right_depends_on_what_is_expected(expect_class, status, text, right):
    assert odd(expect_class, "one", "two").is_right(status, text) is right


def test_the_list_is_read_and_optional_digits_are_left_out(tmp_path):
    record = {"file": "odd/x.jpg", "kind": "a photo", "expect_class": "ok_text", "expected_text": ["top", "6"]}
    (tmp_path / "odd.jsonl").write_text(json.dumps(record) + "\n")
    assert read_odd_files(tmp_path) == [OddFile(tmp_path / "odd/x.jpg", "a photo", "ok_text", ("top",), {})]


def test_without_a_corpus_there_are_no_files(tmp_path):
    assert read_odd_files(tmp_path) == []


def test_the_table_says_what_each_reader_made_of_each_file():
    text = table(
        [
            Row(odd("ok_text", "one", "two", limit_side="960"), Answer(200, text="one two", lines=1), SEEN),
            Row(odd("ok_empty"), Answer(422, "image_too_large"), FAILED),
        ]
    )
    first, second = text.splitlines()[2:4]
    assert first == "| `a.png` | a / b | 2 of 2 words, with limit_side=960 | 1 of 2 words | 30 x 20 |"
    assert second.startswith("| `a.png` | a / b | **wrong:** 422 image_too_large | ValueError: xxx")
    assert second.endswith("... | None |")
    assert (
        "answers 1 of 2 files rightly; of the 2 words that the files are known to show it reads 2, and rapidocr 1"
        in text
    )


def test_the_worker_of_the_other_readers_imports_nothing_of_ours():
    nodes = ast.walk(ast.parse(Path("loadtest/formats/peer_worker.py").read_text()))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not any(module.startswith(("gateway", "loadtest", "tests")) for module in modules)
