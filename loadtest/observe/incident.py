"""The incident: calm, a Triton that hangs, until somebody is paged; then it goes on, until the page is taken back."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.observe import scaled
from loadtest.observe.asking import Answer, Course, Drawn, Prometheus
from loadtest.observe.load import asking
from loadtest.observe.programs import Receivers, program, receivers
from tests.drills.processes import Gateway, send_signal
from tests.drills.repositories import build_models
from tests.ops.alerts import FOLDER as PROMETHEUS_FOLDER
from tests.ops.alerts import RULES
from tests.ops.dashboards import queries
from triton_models.runtime import TritonRuntime
from triton_models.server import LOOPBACK, Ports, TritonProcess

PAGE = "OcrAvailabilityPage"
CALM_S = 60.0
HANG_S = 30.0
"""At least so long, also when somebody is paged sooner."""
PAGED_S = 120.0
RESOLVED_S = 300.0
CANARY_TIMEOUT_S = 20.0
"""On a machine that others use, too, a page may take seconds; without calls that is no load that could be told."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Record:
    """What was seen.

    Attributes:
        began_at, hung_at, went_on_at, ended_at: on the wall clock.
        paged_after_s: from the hang until the receiver was told; None if it never was.
        resolved_after_s: from the end of the hang until the receiver was told.
        told: the words of the first message.
        drawn: what the panels show of all of it.
        firing: every alert that fired during the hang.
        answered: requests by status.
        courses: by name, what Prometheus has recorded.
        log_file: of the gateway.
    """

    began_at: float
    hung_at: float
    went_on_at: float
    ended_at: float
    paged_after_s: float | None
    resolved_after_s: float | None
    told: str
    drawn: Sequence[Drawn]
    firing: frozenset[str]
    answered: Counter[int]
    courses: dict[str, Course]
    log_file: Path

    @property
    def calm(self) -> Sequence[Answer]:
        """What the panels had before the hang."""
        return [one.before(self.hung_at) for one in self.drawn]


COURSES = {
    "answered per second": 'sum(rate(ocr_http_requests_total{route="/v1/ocr",status="200"}[5s])) or vector(0)',
    "failed per second": 'sum(rate(ocr_http_requests_total{route="/v1/ocr",status=~"5.."}[5s])) or vector(0)',
    "failed, 5 min window": "ocr:request_errors:ratio_rate5m",
    "failed, 1 h window": "ocr:request_errors:ratio_rate1h",
    "ready": "max(ocr_ready)",
    "Triton silent": 'max(ocr_endpoint_state{state="silent"})',
    "page fires": f'count(ALERTS{{alertname="{PAGE}",alertstate="firing"}}) > bool 0 or vector(0)',
}


@dataclass(frozen=True, slots=True)
class Stand:
    """Everything that runs."""

    triton: TritonProcess
    gateway: Gateway
    prometheus: Prometheus
    told: Receivers


async def play(runtime: TritonRuntime, folder: Path, say: Say) -> Record:
    """Play it through.

    Raises:
        ObserveError, DrillError: something does not start.
    """
    async with _stand(runtime, folder, say) as stand, asking(stand.gateway.url) as answered:
        began_at = time.time()
        say(f"calm for {CALM_S:g} s")
        await asyncio.sleep(CALM_S)
        say("Triton is stopped (SIGSTOP)")
        send_signal(stand.triton.pid, signal.SIGSTOP)
        hung_at = time.time()
        try:
            paged_at = await _told(stand.told, "firing", hung_at, PAGED_S)
            await asyncio.sleep(max(0.0, hung_at + HANG_S - time.time()))
            firing = await asyncio.to_thread(stand.prometheus.firing)
        finally:
            send_signal(stand.triton.pid, signal.SIGCONT)
        went_on_at = time.time()
        say("Triton goes on (SIGCONT)")
        resolved_at = await _told(stand.told, "resolved", went_on_at, RESOLVED_S)
        ended_at = time.time()
        courses = {name: stand.prometheus.course(query, began_at, ended_at) for name, query in COURSES.items()}
        return Record(
            began_at,
            hung_at,
            went_on_at,
            ended_at,
            paged_at and paged_at - hung_at,
            resolved_at and resolved_at - went_on_at,
            _words(stand.told),
            [stand.prometheus.draw(query, began_at, ended_at) for query in queries()],
            frozenset(firing),
            Counter(answered),
            courses,
            stand.gateway.life.log_file,
        )


@asynccontextmanager
async def _stand(runtime: TritonRuntime, folder: Path, say: Say) -> AsyncIterator[Stand]:
    models = build_models(ROOT / ".local")
    ports, more = Ports.free(), Ports.free()
    with ExitStack() as running:
        say("starting Triton, gateway, Alertmanager and Prometheus")
        triton = running.enter_context(TritonProcess(runtime, models, log_file=folder / "triton.log", ports=ports))
        settings = {"OCR_TRITON_ADDRESSES": triton.grpc_address, "OCR_CANARY_TIMEOUT_S": str(CANARY_TIMEOUT_S)}
        gateway = Gateway("gateway", folder, settings)
        gateway.start()
        try:
            await gateway.wait_ready(180.0)
            told = running.enter_context(receivers(more.metrics))
            alerts = f"{LOOPBACK}:{more.grpc}"
            _configure(folder, gateway.port, ports.metrics, alerts, f"http://{LOOPBACK}:{more.metrics}")
            running.enter_context(_alertmanager(folder, alerts))
            running.enter_context(_prometheus(folder, f"{LOOPBACK}:{more.http}"))
            yield Stand(triton, gateway, Prometheus(f"http://{LOOPBACK}:{more.http}"), told)
        finally:
            await gateway.stop()


def _configure(folder: Path, gateway: int, triton: int, alerts: str, webhook: str) -> None:
    """The deployed files, with shorter times and the addresses of this stand."""
    for kind in ("rules", "targets"):
        (folder / kind).mkdir()
    for path in RULES:
        (folder / "rules" / path.name).write_text(scaled.rules(path.read_text()))
    addresses = {"gateways": f"{LOOPBACK}:{gateway}", "tritons": f"{LOOPBACK}:{triton}", "alertmanagers": alerts}
    for name, text in scaled.targets(addresses).items():
        (folder / "targets" / name).write_text(text)
    (folder / "prometheus.yml").write_text(scaled.prometheus((PROMETHEUS_FOLDER / "prometheus.yml").read_text()))
    deployed = (ROOT / "deploy" / "alertmanager" / "alertmanager.yml").read_text()
    (folder / "alertmanager.yml").write_text(scaled.alertmanager(deployed, webhook))


def _alertmanager(folder: Path, address: str):  # noqa: ANN202 - what `program` gives
    arguments = [
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    return program("Alertmanager", arguments, folder / "alertmanager.log", f"http://{address}/-/ready")


def _prometheus(folder: Path, address: str):  # noqa: ANN202 - what `program` gives
    arguments = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address={address}",
    ]
    return program("Prometheus", arguments, folder / "prometheus.log", f"http://{address}/-/ready")


async def _told(told: Receivers, status: str, since: float, within_s: float) -> float | None:
    """When the receiver is told about the page; None if it is not in time."""
    while time.time() < since + within_s:
        message = told.first(PAGE, status)
        if message is not None and message.at >= since:
            return message.at
        await asyncio.sleep(0.2)
    return None


def _words(told: Receivers) -> str:
    message = told.first(PAGE, "firing")
    return "" if message is None else f"{message.receiver}: {message.words}"
