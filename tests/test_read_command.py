import asyncio
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import get_args

import httpx
import pytest

from gateway.__main__ import FORMAT_NAMES
from gateway.client import AsyncClient
from gateway.formats.table import FormatName
from gateway.read_command import SUFFIXES, CommandError, ReadOptions, deliver, parse_options, read_all, read_files
from gateway.web.capabilities import CapabilitiesOut, LimitsOut

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


async def run(options, piped=b""):
    """What the command does with a gateway that echoes: exit code, and what it said."""
    said = []
    async with AsyncClient("http://gateway", transport=httpx.MockTransport(answer)) as client:
        code = await deliver(read_all(client, options, parse_options(options), piped), options, said.append)
    return code, said


async def test_answers_are_printed_in_the_order_of_the_files_each_on_lines_of_its_own(tmp_path, capfdbinary):
    files = files_of(tmp_path, b=b"second ", a=b"first ", c=b"third ")
    assert await run(ReadOptions(files, None, jobs=3)) == (0, [])
    assert capfdbinary.readouterr().out == b"second text\nfirst text\nthird text\n"


async def test_a_file_that_fails_costs_nothing_but_itself(tmp_path, capfdbinary):
    files = files_of(tmp_path, a=b"bad", b=b"good ")
    code, said = await run(ReadOptions((*files, str(tmp_path / "missing")), None))
    assert code == 1
    assert said == [
        f"{files[0]}: http_422: Unprocessable Entity",
        f"{tmp_path / 'missing'}: No such file or directory",
        "2 of 3 files could not be read",
    ]
    assert capfdbinary.readouterr().out == b"good text\n"


async def test_answers_may_go_into_files_of_their_own(tmp_path, capfdbinary):
    files = files_of(tmp_path, **{"a.jpg": b"one ", "b.png": b"two "})
    out = tmp_path / "new" / "out"
    assert await run(ReadOptions(files, None, form="pdf", out=out)) == (0, [])
    assert (out / "a.jpg.ocr.pdf").read_bytes() == b"one pdf"
    assert (out / "b.png.ocr.pdf").read_bytes() == b"two pdf"
    assert capfdbinary.readouterr().out == b""


async def test_a_dash_is_the_standard_input(capfdbinary):
    assert await run(ReadOptions(("-",), None, form="tsv"), b"piped ") == (0, [])
    assert capfdbinary.readouterr().out == b"piped tsv\n"


async def test_only_some_files_are_under_way_at_once(tmp_path):
    under_way = most = 0

    async def count(request):
        nonlocal under_way, most
        under_way, most = under_way + 1, max(most, under_way + 1)
        await asyncio.sleep(0.01)
        under_way -= 1
        return httpx.Response(200, content=b"text")

    options = ReadOptions(files_of(tmp_path, **{str(number): b"data" for number in range(9)}), None, jobs=3)
    async with AsyncClient("http://gateway", transport=httpx.MockTransport(count)) as client:
        assert [file.answer async for file in read_all(client, options, {})] == [b"text"] * 9
    assert most == 3


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


@pytest.fixture
def silent_gateway():
    """A gateway that takes files and never answers; gives its address, and an event for the first file."""
    asked, over = threading.Event(), threading.Event()
    capabilities = CapabilitiesOut(
        model_set="none",
        model_sets=[],
        models=[],
        version="0",
        inputs=[],
        formats=[],
        limits=LimitsOut(max_body_bytes=1, max_files=1, max_pages=1, timeout_s=1, max_timeout_s=1),
        options={},
    )

    class Silent(BaseHTTPRequestHandler):
        def do_GET(self):
            body = capabilities.model_dump_json().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            asked.set()
            over.wait()

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        over.set()
        server.shutdown()
        thread.join()


def test_an_interrupt_ends_it_at_once_although_answers_are_waited_for(silent_gateway, tmp_path):
    address, asked = silent_gateway
    files = files_of(tmp_path, **{str(number): b"data" for number in range(5)})
    command = [sys.executable, "-m", "gateway", "read", "--url", address, "--timeout", "100", *files]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"stopped\n")
