import io
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import httpx
import pytest

from gateway.__main__ import FORMAT_NAMES
from gateway.client import Client
from gateway.formats.table import FormatName
from gateway.read_command import SUFFIXES, CommandError, ReadOptions, deliver, parse_options, read_all, read_files

NOBODY = "http://127.0.0.1:1"


def answer(request):
    """The file's own bytes back, or a problem if they are bad."""
    if request.content == b"bad":
        return httpx.Response(422, json={"code": "x"}, headers={"content-type": "text/html"})
    return httpx.Response(200, content=request.content + request.url.params["format"].encode())


def files_of(folder, **contents):
    paths = []
    for name, content in contents.items():
        path = folder / name
        path.write_bytes(content)
        paths.append(str(path))
    return tuple(paths)


def run(options):
    """What the command does with a gateway that echoes: exit code, and what it said."""
    said = []
    with Client("http://gateway", transport=httpx.MockTransport(answer)) as client:
        code = deliver(read_all(client, options, parse_options(options)), options, said.append)
    return code, said


def test_answers_are_printed_in_the_order_of_the_files_each_on_lines_of_its_own(tmp_path, capfdbinary):
    files = files_of(tmp_path, b=b"second ", a=b"first ", c=b"third ")
    assert run(ReadOptions(files, None, jobs=3)) == (0, [])
    assert capfdbinary.readouterr().out == b"second text\nfirst text\nthird text\n"


def test_a_file_that_fails_costs_nothing_but_itself(tmp_path, capfdbinary):
    files = files_of(tmp_path, a=b"bad", b=b"good ")
    code, said = run(ReadOptions((*files, str(tmp_path / "missing")), None))
    assert code == 1
    assert said == [
        f"{files[0]}: http_422: Unprocessable Entity",
        f"{tmp_path / 'missing'}: No such file or directory",
    ]
    assert capfdbinary.readouterr().out == b"good text\n"


def test_answers_may_go_into_files_of_their_own(tmp_path, capfdbinary):
    files = files_of(tmp_path, **{"a.jpg": b"one ", "b.png": b"two "})
    out = tmp_path / "new" / "out"
    assert run(ReadOptions(files, None, form="pdf", out=out)) == (0, [])
    assert (out / "a.jpg.ocr.pdf").read_bytes() == b"one pdf"
    assert (out / "b.png.ocr.pdf").read_bytes() == b"two pdf"
    assert capfdbinary.readouterr().out == b""


def test_a_dash_is_the_standard_input(monkeypatch, capfdbinary):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"piped ")))
    assert run(ReadOptions(("-",), None, form="tsv")) == (0, [])
    assert capfdbinary.readouterr().out == b"piped tsv\n"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"options": ("min_score",)}, "an option is given as NAME=VALUE"),
        ({"form": "pdf", "files": ("a", "b")}, "say where to put them with --out"),
        ({"files": ("x/a.jpg", "y/a.jpg"), "out": "."}, "several files are called a.jpg"),
    ],
)
def test_what_can_not_be_done_is_said_before_anything_is_sent(changes, said):
    with pytest.raises(CommandError, match=said):
        parse_options(replace(ReadOptions(("a",), None), **changes))


def test_options_of_the_api_may_have_any_value():
    assert parse_options(ReadOptions(("a",), None, options=("pages=1-3", "level=word", "x=a=b"))) == {
        "pages": "1-3",
        "level": "word",
        "x": "a=b",
    }


def test_without_a_gateway_the_exit_code_is_2_and_the_message_says_what_to_do(tmp_path):
    said = []
    files = files_of(tmp_path, a=b"data")
    assert read_files(ReadOptions(files, NOBODY), said.append) == 2
    assert len(said) == 1
    assert said[0].startswith(f"ocr-gateway: no gateway answers at {NOBODY} (ConnectError")
    assert said[0].endswith("start one, or use --embedded")


def test_every_format_of_the_api_can_be_asked_for_and_has_a_suffix_of_its_own():
    assert set(FORMAT_NAMES) == set(get_args(FormatName)) == set(SUFFIXES)
    assert len(set(SUFFIXES.values())) == len(SUFFIXES)
