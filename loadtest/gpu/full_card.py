"""A card that somebody else has filled before the server starts: what it says, and what the gateway says of it."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadtest.gpu.out_of_memory import held_card
from loadtest.gpu.stand import Stand, free_ports, gateway, is_ready, wait_ready
from triton_models.server import TritonProcess, TritonStartError

SETTLE_S = 4.0
"""For the gateway to look for its server a few times."""
LOAD_TIMEOUT_S = 120.0
FAILED = re.compile(r"^.*failed to load '(?P<model>\w+)' version \d+: (?P<text>.*)$", re.MULTILINE)
MOST_LINES = 6


def start_on_full_card(stand: Stand, repository: str, page: Path, free_mib: int) -> dict[str, Any]:
    """Start a server while a neighbour leaves it so much memory, and once more when the neighbour is gone.

    A gateway is there all the time.
    """
    server, port = stand.server(repository), free_ports(1)[0]
    log = stand.logs / f"gateway-full-card-{free_mib}.log"
    printed_before = server.log_file.stat().st_size if server.log_file.exists() else 0
    settings = {"OCR_TRITON_ADDRESSES": server.grpc_address, "OCR_PORT": str(port), "OCR_DRAIN_DELAY_S": "0"}
    with gateway(settings, log) as process:
        try:
            with held_card(free_mib):
                first = start(server)
                time.sleep(SETTLE_S)
                said = {"readyz": ask(port, "/readyz"), "ocr": ask(port, "/v1/ocr", page.read_bytes())}
                printed = server.log_file.read_bytes()[printed_before:].decode(errors="replace")
                server.stop(timeout_s=2.0)
            second = start(server)
            came_back_s = seconds_until(lambda: is_ready(port) or process.poll() is not None)
            wait_ready(port, process)
        finally:
            server.stop(timeout_s=2.0)
    return {
        "free_mib": free_mib,
        "start": first,
        "failed": failures(printed),
        **said,
        "gateway_log": messages(log.read_text(errors="replace")),
        "start_when_free": second,
        "gateway_ready_after_s": came_back_s,
    }


def start(server: TritonProcess) -> dict[str, Any]:
    """Start it and wait: after how long it was ready, or what stood in the way."""
    began_at = time.monotonic()
    server.start()
    try:
        server.wait_ready(LOAD_TIMEOUT_S)
        text = ""
    except TritonStartError as error:
        text = str(error)
    return {"seconds": round(time.monotonic() - began_at, 1), "exit_code": server.exit_code(), "error": text}


def failures(log: str) -> dict[str, Any]:
    """How many models did not load, and each text that was given for it, with how often it was."""
    texts: dict[str, int] = {}
    for failure in FAILED.finditer(log):
        text = failure["text"].partition("\\n\\nAt:")[0].strip().strip('"')
        texts[text] = texts.get(text, 0) + 1
    return {"models": sum(texts.values()), "texts": texts}


def ask(port: int, path: str, body: bytes | None = None) -> dict[str, Any]:
    """Status and content of an answer of the gateway."""
    headers = {"Content-Type": "application/octet-stream"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30.0) as answer:
            return {"status": answer.status, "content": json.loads(answer.read())}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "content": json.loads(error.read())}


def messages(log: str) -> list[str]:
    """The first different messages of a gateway's log in JSON."""
    entries = (json.loads(line) for line in log.splitlines() if line.startswith("{"))
    return list(dict.fromkeys(str(entry.get("message", entry)) for entry in entries))[:MOST_LINES]


def seconds_until(happened: Callable[[], bool], most_s: float = 60.0) -> float:
    """How long it took until then, or the most that is waited."""
    began_at = time.monotonic()
    while not happened() and time.monotonic() - began_at < most_s:
        time.sleep(0.05)
    return round(time.monotonic() - began_at, 1)
