"""A real gateway on known models, in a process of its own."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from triton_models.processes import die_with_parent
from triton_models.server import Ports

EDGE = Path(__file__).parent
START_TIMEOUT_S = 30.0

QUICK = {
    "OCR_HEADER_TIMEOUT_S": "1",
    "OCR_BODY_TIMEOUT_S": "1",
    "OCR_KEEP_ALIVE_S": "2",
    "OCR_TIMEOUT_S": "5",
    "OCR_DRAIN_DELAY_S": "0",
}
"""Times that a test can wait for."""


@contextmanager
def gateway(folder, *, call_s=0.0, **settings):
    """The port of a gateway that is ready; its log goes to a file of the folder.

    Args:
        folder: for the log.
        call_s: what a call of the models takes.
        settings: OCR_* variables.
    """
    port = Ports.free().http
    own = {"OCR_PORT": str(port), "FAKE_CALL_S": str(call_s), **QUICK, **settings}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCR_")} | own
    with running([sys.executable, str(EDGE / "fake_gateway.py")], log_of(folder, port), environment) as process:
        wait_until(lambda: is_ready(port), process)
        yield port


@contextmanager
def running(command, log, environment=None):
    """A process that is ended, in an orderly way, at the end."""
    with (
        log.open("wb") as stderr,
        subprocess.Popen(die_with_parent(command), env=environment, stderr=stderr) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def log_of(folder, port):
    """Where the gateway on this port writes its log."""
    return Path(folder) / f"gateway-{port}.log"


def is_ready(port):
    """Whether a gateway is there and reads its known picture."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success
    except httpx.TransportError:
        return False


def wait_until(happened, process):
    """Return when it has happened; RuntimeError if the process ends before, or it takes too long."""
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while not happened():
        if process.poll() is not None or time.monotonic() > give_up_at:
            raise RuntimeError(f"{process.args[-1]} did not come up (exit code {process.poll()}); see its log")
        time.sleep(0.05)
