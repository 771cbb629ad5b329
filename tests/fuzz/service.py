"""A whole gateway on fake models, for requests that nobody would think of."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.local_gateway import free_port, is_ready
from loadtest.processes import stop

FAKE_GATEWAY = ROOT / "tests" / "edge" / "fake_gateway.py"
START_TIMEOUT_S = 30.0


@contextmanager
def fake_gateway(folder: Path) -> Iterator[str]:
    """Its address, once it is ready. Its log stays in the folder.

    Raises:
        AccuracyError: it did not come up.
    """
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCR_")}
    with (folder / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(FAKE_GATEWAY)], env=environment | {"OCR_PORT": str(port)}, stdout=log, stderr=log
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_ready(address)
            yield address
            assert httpx.get(f"{address}/livez", trust_env=False).is_success, "it did not survive"
        finally:
            stop(process)


def _wait_ready(address: str) -> None:
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while not is_ready(address):
        if time.monotonic() > give_up_at:
            raise AccuracyError("the gateway on fake models did not come up")
        time.sleep(0.1)
