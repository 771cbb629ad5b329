"""What clients meet when Triton hangs, dies or loses a model while pages are read: answers by second.

A server that is dead stays dead unless somebody restarts it. Here that is what `ocr-gateway serve` does; in production
the kubelet or systemd.
"""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gateway.inference.checkup import check_up
from gateway.supervision import Supervisor
from loadtest.gpu.load import OK, Offer, Sample, summarize
from loadtest.gpu.service import Service
from triton_models.processes import group_members

CALM_S = 3.0
"""Before the fault."""
HANG_S = 3.0
REPAIR_S = 40.0
"""For finding a dead server or model, and for warming up all models anew."""
CHEAPEST_MODEL = "text_recognition_w160_r1"
"""Whoever checks a server asks this one; that any other has died is seen by those whose lines it reads."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, made while load is offered.

    Attributes:
        name: in the results.
        make: does it; called on the main thread, returns when it is over or can't be undone here.
        seconds: of load in all.
        restarts: whether somebody watches over the server and restarts it.
    """

    name: str
    make: Callable[[], None]
    seconds: float
    restarts: bool = False


class _LoadEndedError(Exception):
    """There is nothing left to watch over the server for."""


def suffer(service: Service, ports: Sequence[int], kind: str, rate: float, fault: Fault) -> dict[str, Any]:
    """Offer pages at a steady rate, make the fault after a while, and say what came of every second's requests."""
    offer = Offer(tuple(ports), fault.seconds, rate=rate, timeout_s=15.0)
    samples: list[Sample] = []
    load = threading.Thread(target=lambda: samples.extend(service.clients.send(offer, service.pages(kind))))
    load.start()
    time.sleep(CALM_S)
    fault.make()
    said = tend(service, load.is_alive) if fault.restarts else []
    load.join()
    by_second: dict[int, Counter[str]] = {}
    for sample in samples:
        by_second.setdefault(int(sample.due_s), Counter())[str(sample.status)] += 1
    slowest = max((sample.seconds for sample in samples), default=0.0)
    return {
        "fault": fault.name,
        "rate": rate,
        "at_s": CALM_S,
        "statuses": summarize(samples, fault.seconds).statuses,
        "by_second": [dict(by_second.get(second, Counter())) for second in range(int(fault.seconds))],
        "slowest_s": round(slowest, 2),
        "back_after_s": back_after_s(samples),
        "restarts": said,
    }


def back_after_s(samples: Sequence[Sample]) -> float | None:
    """From the fault until the last request was due that did not get its page; None if no later one got its own."""
    lost = max((sample.due_s for sample in samples if sample.status != OK), default=CALM_S)
    return round(lost - CALM_S, 1) if any(sample.due_s > lost for sample in samples) else None


def tend(service: Service, wanted: Callable[[], bool]) -> list[tuple[float, str]]:
    """Restart the server as `serve` does, for as long as it is wanted; what was said, and after how many seconds."""
    began_at, said = time.monotonic(), []

    def say(text: str) -> None:
        said.append((round(time.monotonic() - began_at, 1), text))

    def require_wanted() -> None:
        if not wanted():
            raise _LoadEndedError

    check = partial(check_up, service.server.grpc_address)
    with suppress(_LoadEndedError):
        asyncio.run(Supervisor(service.server, check, require_wanted, say).run())
    return said


def hang(service: Service) -> Fault:
    """The server and its models are stopped for a while, as by a driver that does not return."""

    def make() -> None:
        os.killpg(service.server.pid, signal.SIGSTOP)
        time.sleep(HANG_S)
        os.killpg(service.server.pid, signal.SIGCONT)

    return Fault(f"hang of {HANG_S:g} s", make, CALM_S + HANG_S + 4.0)


def death_of_model(service: Service, model: str = CHEAPEST_MODEL) -> Fault:
    """One model's process is killed."""

    def make() -> None:
        os.kill(process_of(service.server.pid, model), signal.SIGKILL)

    return Fault("death of one model's process", make, CALM_S + REPAIR_S, restarts=True)


def death_of_server(service: Service) -> Fault:
    """The server and its models are killed."""

    def make() -> None:
        os.killpg(service.server.pid, signal.SIGKILL)

    return Fault("death of the server", make, CALM_S + REPAIR_S, restarts=True)


def process_of(server: int, model: str) -> int:
    """The process of a model; its command line names the model's folder."""
    return next(process for process in group_members(server) if f"/{model}/" in command_line(process))


def command_line(process: int) -> str:
    """The words of a process's command; empty if it is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""
