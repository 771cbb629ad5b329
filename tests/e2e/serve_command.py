"""`ocr-gateway serve` as a child of a test, with every process that it starts."""

import os
import re
import secrets
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
from served_models import HOME

from triton_models.server import Ports

SERVER = "bin/tritonserver --model-repository"
GATEWAY = "-m gateway run"
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
def serving(tmp_path, *options, home=HOME):
    """A command that has said that it is ready."""
    serving = Serving(tmp_path / "serve.log", *options, home=home)
    try:
        serving.wait_until_said(STARTED)
        yield serving
    finally:
        for pid in serving.processes():
            os.kill(pid, signal.SIGKILL)
        serving.process.wait()
