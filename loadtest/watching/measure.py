"""Gateways side by side that differ in how they are watched, and the processor time of each for the same pages."""

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from loadtest.gpu.http_client import Connection
from loadtest.overload.stand import ready, running
from loadtest.stages.pages import reference_page
from loadtest.stages.processor_time import of_process
from tests.drills.processes import without_settings
from triton_models.server import LOOPBACK, Ports

CALL_S = 0.001
OK = 200
SCRAPES = 20
"""For each repetition."""
SETTLE_S = 1.0
"""After the pages of a repetition; spans are sent twice a second."""
_SAMPLER = "parentbased_traceidratio"
TRACED: Mapping[str, str] = {"OCR_TRACES": "true", "OTEL_BSP_SCHEDULE_DELAY": "500", "OTEL_TRACES_SAMPLER": _SAMPLER}
BARE = "without traces"
WAYS: Mapping[str, Mapping[str, str]] = {
    BARE: {},
    "one request in ten traced": {**TRACED, "OTEL_TRACES_SAMPLER_ARG": "0.1"},
    "every request traced": {**TRACED, "OTEL_TRACES_SAMPLER_ARG": "1"},
}


@dataclass(slots=True)
class Costs:
    """What was measured.

    Attributes:
        page_ms: by way, processor time of a page, for each repetition.
        ratios: likewise, over that without traces in the same repetition.
        scrape_ms: processor time of a scrape, for each repetition.
        series: lines of samples in one.
        sent: how often the collector was sent spans.
    """

    page_ms: dict[str, list[float]] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)
    scrape_ms: list[float] = field(default_factory=list)
    series: int = 0
    sent: int = 0

    def pages_in_a_scrape(self) -> float:
        """How many pages cost as much as one scrape."""
        return statistics.median(self.scrape_ms) / statistics.median(self.page_ms[BARE])


@dataclass(frozen=True, slots=True)
class Watched:
    """One gateway."""

    connection: Connection
    pid: int

    async def ask(self, page: bytes) -> None:
        """Have it read a page."""
        answer = await self.connection.post("/v1/ocr", page)
        if answer.status != OK:
            raise RuntimeError(f"{answer.status} {answer.body[:300]!r}")

    async def scrape_ms(self) -> float:
        """Processor time of a scrape."""
        started = of_process(self.pid)
        for _ in range(SCRAPES):
            await self.connection.get("/metrics")
        return 1e3 * (of_process(self.pid) - started) / SCRAPES

    async def series(self) -> int:
        """How many samples a scrape brings."""
        body = (await self.connection.get("/metrics")).body.decode()
        return sum(bool(line) and not line.startswith("#") for line in body.splitlines())


async def measure(folder: Path, repeats: int, pages: int) -> Costs:
    """So many pages for each gateway, page by page in turn, so many times."""
    costs = Costs()
    with collector() as (endpoint, sent):
        async with AsyncExitStack() as stack:
            gateways = {
                name: await stack.enter_async_context(gateway(folder / f"{number}.log", {**own, **endpoint}))
                for number, (name, own) in enumerate(WAYS.items())
            }
            await pages_ms(gateways, pages)
            for _ in range(repeats):
                spent = await pages_ms(gateways, pages)
                for name, page_ms in spent.items():
                    costs.page_ms.setdefault(name, []).append(page_ms)
                    costs.ratios.setdefault(name, []).append(page_ms / spent[BARE])
                costs.scrape_ms.append(await gateways[BARE].scrape_ms())
            costs.series = await gateways[BARE].series()
        costs.sent = len(sent)
    return costs


async def pages_ms(gateways: Mapping[str, Watched], pages: int) -> dict[str, float]:
    """Processor time of a page by gateway, with all that is done for it afterwards."""
    page, names = reference_page().data, list(gateways)
    started = {name: of_process(one.pid) for name, one in gateways.items()}
    for number in range(pages):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            await gateways[name].ask(page)
    await asyncio.sleep(SETTLE_S)
    return {name: 1e3 * (of_process(one.pid) - started[name]) / pages for name, one in gateways.items()}


@asynccontextmanager
async def gateway(log_file: Path, own: Mapping[str, str]) -> AsyncIterator[Watched]:
    """A gateway whose models take a fixed time, with settings of its own."""
    port = Ports.free().http
    settings = {"OCR_PORT": str(port), "OCR_DRAIN_DELAY_S": "0", "OCR_CANARY_INTERVAL_S": "600", **own}
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    command = [sys.executable, "-m", "loadtest.overload.fixed_gateway", cores, str(CALL_S)]
    with running(command, log_file, without_settings(os.environ) | settings) as process:
        await ready(f"http://{LOOPBACK}:{port}/readyz", process)
        with Connection(LOOPBACK, port) as connection:
            yield Watched(connection, process.pid)


@contextmanager
def collector() -> Iterator[tuple[Mapping[str, str], list[float]]]:
    """Something that takes spans; gives the variable that says where, and when it was sent some."""
    sent: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(time.time())
            self.send_response(OK)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{LOOPBACK}:{server.server_port}"}, sent
    finally:
        server.shutdown()
        server.server_close()
