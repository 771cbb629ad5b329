"""What clients meet when Triton hangs, dies or loses a model while pages are read: answers by second."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.gpu.load import Offer, Sample, summarize
from loadtest.gpu.service import Service
from loadtest.gpu.stand import is_ready
from triton_models.processes import group_members

CALM_S = 3.0
"""Before the fault."""
HANG_S = 3.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault, made while load is offered.

    Attributes:
        name: in the results.
        make: does it; called on the main thread, returns when it is over or can't be undone here.
        seconds: of load in all.
    """

    name: str
    make: Callable[[], None]
    seconds: float


def suffer(service: Service, ports: Sequence[int], kind: str, rate: float, fault: Fault) -> dict[str, Any]:
    """Offer pages at a steady rate, make the fault after a while, and say what came of every second's requests."""
    offer = Offer(tuple(ports), fault.seconds, rate=rate, timeout_s=15.0)
    samples: list[Sample] = []
    load = threading.Thread(target=lambda: samples.extend(service.clients.send(offer, service.pages(kind))))
    load.start()
    time.sleep(CALM_S)
    fault.make()
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
    }


def hang(service: Service) -> Fault:
    """The server and its models are stopped for a while, as by a driver that does not return."""

    def make() -> None:
        os.killpg(service.server.pid, signal.SIGSTOP)
        time.sleep(HANG_S)
        os.killpg(service.server.pid, signal.SIGCONT)

    return Fault(f"hang of {HANG_S:g} s", make, CALM_S + HANG_S + 4.0)


def death_of_model(model: int) -> Fault:
    """One model's process is killed."""
    return Fault("death of one model's process", lambda: os.kill(model, signal.SIGKILL), CALM_S + 4.0)


def death_of_server(service: Service) -> Fault:
    """The server and its models are killed."""
    return Fault("death of the server", lambda: os.killpg(service.server.pid, signal.SIGKILL), CALM_S + 4.0)


def return_after_restart(service: Service, ports: Sequence[int]) -> dict[str, float]:
    """Start the server again: seconds until its models are warm, and until the gateways read again."""
    started = time.monotonic()
    service.server.start()
    service.server.wait_ready()
    warm_s = time.monotonic() - started
    while not all(map(is_ready, ports)) and time.monotonic() - started < warm_s + 30.0:
        time.sleep(0.1)
    return {"models_warm_s": round(warm_s, 1), "gateways_ready_s": round(time.monotonic() - started, 1)}


def some_model(service: Service) -> int:
    """A process of a model."""
    return next(process for process in group_members(service.server.pid) if process != service.server.pid)
