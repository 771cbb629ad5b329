"""`ocr-gateway serve` as a person at a terminal meets it: what it says, what it answers, and what it leaves behind."""

import os
import re
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from gateways import assert_same_answer
from rendered_pages import lines_of_small_page, png, small_page
from served_models import HOME

from gateway.canary import KNOWN_TEXT
from triton_models.server import Ports

# The first of them installs Triton and fetches the models, if no other test has.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

COMMAND = Path(sys.executable).with_name("ocr-gateway")
ROOT = HOME.parent
MARK = "STARTED_BY_TEST"
STARTED = "stop it:"


class Serving:
    """A running command. Its processes are found by a variable that all inherit, even those that left its session."""

    def __init__(self, log, *options, home=HOME, port=None, through=()):
        self.port = port or Ports.free().http
        self._log = log
        self._mark = secrets.token_hex(8)
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*through, COMMAND, "serve", "--port", str(self.port), "--home", home, *options],
                cwd=ROOT,
                env={**os.environ, MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )

    @property
    def said(self):
        return self._log.read_text()

    def wait_until_said(self, words):
        assert eventually(lambda: words in self.said or self.process.poll() is not None, within_s=500)
        assert words in self.said

    def processes(self):
        """Command lines of what runs, by process id."""
        return {pid: command for pid in marked(self._mark) if (command := command_of(pid))}

    def find(self, words):
        (pid,) = (pid for pid, command in self.processes().items() if words in command)
        return pid

    def shared_memory(self):
        """What its Triton has in /dev/shm."""
        prefixes = re.findall(r"shm-region-prefix-name=(\S+)", " ".join(self.processes().values()))
        return [path for prefix in prefixes for path in Path("/dev/shm").glob(prefix + "*")]

    def read(self, data):
        return httpx.post(f"http://127.0.0.1:{self.port}/v1/ocr", content=data, trust_env=False, timeout=60)


def marked(mark):
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                yield int(folder.name)
        except OSError:  # it ended meanwhile
            pass


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def eventually(condition, within_s):
    end = time.monotonic() + within_s
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return met


@contextmanager
def serving(tmp_path, *options):
    """A command that has said that it is ready."""
    serving = Serving(tmp_path / "serve.log", *options)
    try:
        serving.wait_until_said(STARTED)
        yield serving
    finally:
        for pid in serving.processes():
            os.kill(pid, signal.SIGKILL)
        serving.process.wait()


def send_as_printed(said):
    """What curl would do with the line that was printed."""
    words = shlex.split(re.search(r"try it: +(.*)", said)[1])
    assert words[:3] == ["curl", "-sS", "--data-binary"]
    data = (ROOT / words[3].removeprefix("@")).read_bytes()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return httpx.post(words[4], content=data, headers=headers, trust_env=False, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_printed_line_is_answered_and_a_signal_leaves_nothing_behind(tmp_path, number):
    with serving(tmp_path) as served:
        assert f"http://127.0.0.1:{served.port}\n" in served.said
        answer = send_as_printed(served.said)
        assert (answer.status_code, answer.json()["pages"][0]["text"]) == (200, KNOWN_TEXT)
        assert len(served.processes()) >= 5, "itself, the gateway, Triton and a stub for each model"
        shared_memory = served.shared_memory()
        assert shared_memory
        os.killpg(served.process.pid, number)  # as a terminal does: all in the foreground get it
        assert served.process.wait(30) == 0
        assert served.processes() == {}
        assert not any(path.exists() for path in shared_memory)
        assert served.said.endswith("stopped\n")


def test_a_triton_that_dies_takes_everything_with_it_and_is_named(tmp_path):
    with serving(tmp_path) as served:
        shared_memory = served.shared_memory()
        os.kill(served.find("bin/tritonserver --model-repository"), signal.SIGKILL)
        assert served.process.wait(30) == 1
        assert served.said.endswith(
            "ocr-gateway: triton ended by itself with exit code -9; everything else was stopped\n"
        )
        assert served.processes() == {}
        assert not any(path.exists() for path in shared_memory)


def test_a_command_that_is_killed_takes_its_children_with_it(tmp_path):
    with serving(tmp_path) as served:
        served.process.kill()
        assert eventually(lambda: not served.processes(), within_s=30), served.processes()


def test_an_interrupt_while_triton_starts_leaves_nothing_behind(tmp_path):
    """Here as a shell's background job, which is born with the signal ignored."""
    served = Serving(tmp_path / "serve.log", through=["sh", "-c", 'trap "" INT; exec "$0" "$@"'])
    served.wait_until_said("starting Triton")
    assert eventually(lambda: len(served.processes()) >= 2, within_s=30)
    os.killpg(served.process.pid, signal.SIGINT)
    assert served.process.wait(30) == 0
    assert served.processes() == {}


def test_embedded_models_say_the_same_and_a_gateway_that_dies_is_named(tmp_path, gateway):
    data = png(small_page(3))
    on_triton = httpx.post(f"{gateway}/v1/ocr", content=data, trust_env=False, timeout=60).json()
    with serving(tmp_path, "--backend", "embedded") as served:
        embedded = served.read(data).json()
        assert_same_answer(embedded, on_triton)
        assert embedded["pages"][0]["text"].splitlines() == lines_of_small_page(3)
        os.kill(served.find("-m gateway run"), signal.SIGKILL)
        assert served.process.wait(30) == 1
        assert served.said.endswith(
            "ocr-gateway: the gateway ended by itself with exit code -9; everything else was stopped\n"
        )
        assert served.processes() == {}


def test_a_port_that_is_taken_is_one_sentence_and_nothing_is_started(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        served = Serving(tmp_path / "serve.log", home=tmp_path / "home", port=port)
        assert served.process.wait(60) == 1
    assert served.said == (
        f"ocr-gateway: the gateway can't listen on 127.0.0.1:{port} (Address already in use): "
        "choose another with --port, or PORT= for make\n"
    )
    assert not (tmp_path / "home").exists()
    assert served.processes() == {}
