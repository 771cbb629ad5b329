"""Gateways and nginx as children of a drill, and what a gateway process wrote down.

A gateway keeps its port when it is started again; each of its lives has a log of its own.
"""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from gateway.settings import PREFIX
from tests.drills.errors import DrillError
from tests.drills.ledger import Account, Admission
from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK, Ports

READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 40.0
POLL_INTERVAL_S = 0.05
NO_TLS = False
"""Reading the certificates that are trusted takes 20 ms of a core, whoever is asked; and this is asked all the time."""
PROBES = frozenset(("/livez", "/readyz", "/metrics"))
REQUESTS, IN_FLIGHT = "ocr_http_requests_total", "ocr_http_requests_in_flight"
ADMISSION = ("ocr_admission_admitted_total", "ocr_admission_refused_total", "ocr_admission_slots_in_use")


def send_signal(pid: int, number: int) -> None:
    """Signal a process of ours; a pid of 0 or 1 would mean a group, or everybody."""
    assert pid > 1, pid
    os.kill(pid, number)


@dataclass(slots=True)
class Life:
    """One process of a gateway, from its start to its end.

    Attributes:
        name: of the process.
        process: see there.
        log_file: what it printed.
        counted, admission: its counters, once they have been read.
        cut_short: it was killed, or its disk was full: its log may lack lines.
    """

    name: str
    process: subprocess.Popen[bytes]
    log_file: Path
    counted: Mapping[int, int] | None = None
    admission: Admission | None = None
    cut_short: bool = False

    def account(self) -> Account:
        """What it wrote down."""
        lines = list(request_lines(read_log(self.log_file)))
        ended = tuple((str(line["request_id"]), int(line["status"])) for line in lines)
        return Account(self.name, ended, counted=self.counted, admission=self.admission, complete=not self.cut_short)


class Gateway:
    """One address and the gateway process behind it; `start`, and in the end `stop`.

    Args:
        name: in reports.
        folder: for its logs.
        settings: variables of its environment; nothing of the prefix OCR_ is inherited.

    Attributes:
        port: where it listens.
        lives: its processes, the running one last.
    """

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str]) -> None:
        self.name = name
        self.port = Ports.free().http
        self.lives: list[Life] = []
        self._folder = folder
        self._settings = settings

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def life(self) -> Life:
        """The latest process."""
        return self.lives[-1]

    @property
    def pid(self) -> int:
        """Of the latest process."""
        return self.life.process.pid

    def command(self) -> list[str]:
        """What `ocr-gateway` is asked for."""
        return ["run"]

    def start(self) -> None:
        """Start a process; on the main thread (see `die_with_parent`)."""
        name = f"{self.name}-{len(self.lives) + 1}"
        log_file = self._folder / f"{name}.log"
        own = {"OCR_HOST": LOOPBACK, "OCR_PORT": str(self.port), "OCR_LOG_FORMAT": "json", **self._settings}
        with log_file.open("ab") as log:
            process = subprocess.Popen(
                die_with_parent([sys.executable, "-m", "gateway", *self.command()]),
                env=without_settings(os.environ) | own,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.lives.append(Life(name, process, log_file))

    async def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Wait until it reads the known picture.

        Raises:
            DrillError: it ended, or was not ready in time.
        """
        await wait_until(self.is_ready, timeout_s, f"{self.life.name} (log: {self.life.log_file}) is not ready")

    async def is_ready(self) -> bool:
        """Whether it says so now."""
        if (code := self.life.process.poll()) is not None:
            raise DrillError(f"{self.life.name} ended with exit code {code} (log: {self.life.log_file})")
        return await is_success(f"{self.url}/readyz")

    def signal(self, number: int) -> None:
        """Send a signal to the latest process; after SIGKILL its log is not expected to be whole."""
        if number == signal.SIGKILL:
            self.life.cut_short = True
        send_signal(self.pid, number)

    def limit_file_size(self, max_bytes: int) -> None:
        """Let every write beyond this size fail, as on a full disk; the log included."""
        self.life.cut_short = True
        _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (max_bytes, hard))

    async def settle(self) -> None:
        """Wait until nothing is under way, then read the counters."""
        if self.life.process.poll() is None:
            await wait_until(self._is_idle, STOP_TIMEOUT_S, f"{self.life.name} is still at work")
            self.life.counted = dict(await self._count())
            self.life.admission = Admission(*[await self._total(name) for name in ADMISSION])

    async def stop(self) -> int | None:
        """End the latest process soon, then by force; its exit code, or None if force was needed."""
        process = self.life.process
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        try:
            return await asyncio.to_thread(process.wait, STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None

    async def _is_idle(self) -> bool:
        """This very question is under way, too."""
        return all(sample.value <= 1 for sample in await self.samples(IN_FLIGHT))

    async def _count(self) -> Counter[int]:
        """Requests for pages by status."""
        counted: Counter[int] = Counter()
        for sample in await self.samples(REQUESTS):
            if sample.labels["route"] not in PROBES:
                counted[int(sample.labels["status"])] += int(sample.value)
        return counted

    async def _total(self, name: str) -> int:
        return sum(int(sample.value) for sample in await self.samples(name))

    async def samples(self, name: str) -> list[Sample]:
        """The metric of this name, with all of its labels."""
        return await read_samples(f"{self.url}/metrics", name)


class SupervisedPair(Gateway):
    """A gateway and its Triton as `ocr-gateway serve` keeps them up; the process is that of the command.

    Args:
        name, folder, settings: as of `Gateway`.
        model_set: that Triton serves.
        home: folder of the installed Triton and the models.
    """

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str], *, model_set: str, home: Path) -> None:
        super().__init__(name, folder, settings)
        self._options = ["--port", str(self.port), "--model-set", model_set, "--home", str(home)]

    def command(self) -> list[str]:
        """As of `Gateway`."""
        return ["serve", *self._options]

    @property
    def triton_pid(self) -> int:
        """Of the Triton that it keeps up at the moment.

        Raises:
            DrillError: there is none.
        """
        children = psutil.Process(self.pid).children(recursive=True)
        servers = [child.pid for child in children if child.name() == "tritonserver"]
        if not servers:
            raise DrillError(f"{self.name} has no Triton (log: {self.life.log_file})")
        return servers[0]


def without_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings of the gateway."""
    return {name: value for name, value in environment.items() if not name.startswith(PREFIX)}


def read_log(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON lines of a log; what is none, such as a line that a kill cut off, is left out."""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def request_lines(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines that say how a request for a page ended."""
    return (entry for entry in entries if "status" in entry and entry.get("route") not in PROBES)


async def read_samples(url: str, name: str) -> list[Sample]:
    """The samples of one metric, from where Prometheus would read it."""
    async with httpx.AsyncClient(trust_env=False, verify=NO_TLS) as client:
        text = (await client.get(url)).text
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return [sample for sample in samples if sample.name == name]


async def is_success(url: str) -> bool:
    """Whether the address answers 200 now."""
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=1.0, verify=NO_TLS) as client:
            return (await client.get(url)).is_success
    except httpx.TransportError:
        return False


async def wait_until(condition: Callable[[], Any], timeout_s: float, complaint: str) -> None:
    """Ask every now and then.

    Raises:
        DrillError: it did not come true in time.
    """
    give_up_at = time.monotonic() + timeout_s
    while not await condition():
        if time.monotonic() > give_up_at:
            raise DrillError(f"after {timeout_s:g} s {complaint}")
        await asyncio.sleep(POLL_INTERVAL_S)
