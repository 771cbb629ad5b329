"""Reads metrics and processor times now and then, while the load generator works."""

import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from types import TracebackType
from typing import Self

import httpx
import psutil

from loadtest.capacity.usage import MACHINE, Reading
from loadtest.gpu.scrape import Counters, parse

INTERVAL_S = 1.0
PATIENCE_S = 10.0
VERIFIED = ssl.create_default_context()
"""Made once: reading the trusted certificates takes 20 ms, and there are readings all the time."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where readings come from.

    Attributes:
        gateway_metrics: address of a metrics page.
        triton_metrics: the same; None if it is unknown.
        processes: ids by name, of what runs on this machine; each with its children.
    """

    gateway_metrics: str
    triton_metrics: str | None
    processes: Mapping[str, int]

    def also(self, name: str, pid: int) -> Self:
        """One more process, where there are any: elsewhere processor times say nothing."""
        return replace(self, processes={**self.processes, name: pid} if self.processes else {})

    def read(self) -> Reading:
        """Everything now; httpx.HTTPError if somebody does not answer."""
        spent = {name: processor_s(pid) for name, pid in self.processes.items()}
        everybody = {MACHINE: machine_s()} if self.processes else {}
        triton = page(self.triton_metrics) if self.triton_metrics else {}
        return Reading(time.time(), page(self.gateway_metrics), triton, everybody | spent)


@dataclass(slots=True)
class Watch:
    """Keeps readings while it is open.

    Attributes:
        sources: see there.
        readings: so far, in order.
        missed: how often somebody did not answer.
    """

    sources: Sources
    readings: list[Reading] = field(default_factory=list)
    missed: int = 0
    _over: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        assert self._thread is not None
        self._thread.join()

    def between(self, begin: float, end: float) -> list[Reading]:
        """Those of a time."""
        return [reading for reading in self.readings if begin <= reading.at <= end]

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            try:
                self.readings.append(self.sources.read())
            except httpx.HTTPError:
                self.missed += 1


def page(address: str) -> Counters:
    """A metrics page."""
    return parse(httpx.get(address, timeout=PATIENCE_S, verify=VERIFIED, trust_env=False).raise_for_status().text)


def machine_s() -> float:
    """Processor time of everybody on this machine, without what was idle."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - times.iowait - times.guest - times.guest_nice)


def processor_s(pid: int) -> float:
    """Of a process and those it has started; 0 when it has ended."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                total += times.user + times.system
    return total
