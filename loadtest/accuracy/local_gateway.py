"""A Triton and a gateway for the time of the comparison, started by the command that people use."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.processes import stop

READY_TIMEOUT_S = 900.0
"""The first start installs Triton and builds the models."""
POLL_INTERVAL_S = 0.5


@contextmanager
def local_gateway(log_file: Path, say: Callable[[str], None]) -> Iterator[str]:
    """Start `python -m gateway serve` on a free port, give its address once it is ready, and stop it.

    Raises:
        AccuracyError: it ended, or was not ready in time.
    """
    port = free_port()
    say(f"starting Triton and the gateway on port {port} (log: {log_file})")
    command = [sys.executable, "-m", "gateway", "serve", "--port", str(port)]
    with log_file.open("wb") as log:
        # A session of its own: Ctrl-C reaches the comparison alone, which then stops the pair.
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_ready(process, address, log_file)
            yield address
        finally:
            stop(process)


def free_port() -> int:
    """A port of the loopback interface that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_ready(process: subprocess.Popen[bytes], address: str, log_file: Path) -> None:
    """Poll `/readyz` until it answers 200."""
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while not is_ready(address):
        if process.poll() is not None:
            raise AccuracyError(f"the gateway ended with exit code {process.returncode}: see {log_file}")
        if time.monotonic() > give_up_at:
            raise AccuracyError(f"the gateway was not ready after {READY_TIMEOUT_S:.0f} s: see {log_file}")
        time.sleep(POLL_INTERVAL_S)


def is_ready(address: str) -> bool:
    """Whether the gateway says that it reads correctly."""
    try:
        return httpx.get(f"{address}/readyz", timeout=5.0, trust_env=False).is_success
    except httpx.TransportError:
        return False
