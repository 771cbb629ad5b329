"""Prometheus and Alertmanager as children, and somebody whom Alertmanager tells."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx

from loadtest.observe.errors import ObserveError
from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK

START_TIMEOUT_S = 60.0
NAMES: Mapping[str, Sequence[str]] = {
    "Prometheus": ("prometheus",),
    "Alertmanager": ("alertmanager", "prometheus-alertmanager"),
}
"""What the programs are called; Debian gives the second another name."""
PACKAGES = {"Prometheus": "prometheus", "Alertmanager": "prometheus-alertmanager"}


@dataclass(frozen=True, slots=True)
class Message:
    """Something that a receiver was told.

    Attributes:
        at: when, on the wall clock.
        receiver: the end of its address.
        alert, status: of the alert: "firing" or "resolved".
        words: what a person would read: summary, description, runbook.
    """

    at: float
    receiver: str
    alert: str
    status: str
    words: str


@dataclass(slots=True)
class Receivers:
    """Where Alertmanager sends its messages.

    Attributes:
        port: where they listen.
        messages: all so far.
    """

    port: int
    messages: list[Message] = field(default_factory=list)

    def first(self, alert: str, status: str) -> Message | None:
        """The first message that says this."""
        said = [message for message in self.messages if (message.alert, message.status) == (alert, status)]
        return said[0] if said else None


def missing() -> list[str]:
    """The programs that are not here, each with how to get it."""
    return [
        f"{name} is not here; Debian: apt-get install {PACKAGES[name]}"
        for name, commands in NAMES.items()
        if not any(map(shutil.which, commands))
    ]


@contextmanager
def program(name: str, arguments: Sequence[str], log_file: Path, health: str) -> Iterator[None]:
    """One of them, running and healthy.

    Raises:
        ObserveError: it is not, after a minute.
    """
    command = next(path for one in NAMES[name] if (path := shutil.which(one)))
    with log_file.open("ab") as log:
        process = subprocess.Popen(die_with_parent([command, *arguments]), stdout=log, stderr=log)
    try:
        _wait_healthy(name, process, health, log_file)
        yield
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def receivers(port: int) -> Iterator[Receivers]:
    """Somebody who listens to Alertmanager."""
    told = Receivers(port)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.messages.extend(
                Message(
                    time.time(),
                    self.path.strip("/"),
                    alert["labels"]["alertname"],
                    alert["status"],
                    " · ".join(
                        alert["annotations"].get(part, "") for part in ("summary", "description", "runbook_url")
                    ),
                )
                for alert in body["alerts"]
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()


def _wait_healthy(name: str, process: subprocess.Popen[bytes], health: str, log_file: Path) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(health, timeout=2.0, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise ObserveError(f"{name} does not start: {log_file.read_text()[-500:]}")
