"""How late the event loop is, with connections that are idle and clients that keep asking.

The gateway itself measures it, ten times a second (`ocr_event_loop_lag_seconds`). It is measured on real models, and on
models that answer at once: there the gateway has all cores and far more to do than beside real models on the same ones.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from loadtest.gpu.http_client import Connection
from loadtest.overload.stand import ready, running
from loadtest.stages.measure import OK, gateway
from loadtest.stages.pages import reference_page
from loadtest.stages.stand import triton
from loadtest.terminal import say
from tests.drills.processes import read_samples, without_settings
from triton_models.server import LOOPBACK, Ports

IDLE = 256
ACTIVE = 64
FIXED_CALL_S = 0.01
WARM_UP_S = 3.0
LAG_BUCKETS = "ocr_event_loop_lag_seconds_bucket"
SETTINGS: Mapping[str, str] = {
    "OCR_DRAIN_DELAY_S": "0",
    "OCR_TIMEOUT_S": "600",
    "OCR_MAX_TIMEOUT_S": "600",
    "OCR_CANARY_TIMEOUT_S": "60",
}

Buckets = Mapping[float, float]
"""Observations at or below each edge, seconds."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How late the loop was.

    Attributes:
        idle, active: connections without requests, and clients that keep asking.
        answered: pages, in the time that was measured.
        seconds: of measuring.
        at_most: looks that were late by at most so many seconds, by that number.
    """

    idle: int
    active: int
    answered: int
    seconds: float
    at_most: Buckets

    def share(self, edge_s: float) -> float:
        """The share of looks that were late by at most so much."""
        return self.at_most[edge_s] / max(1.0, *self.at_most.values())

    def percentile(self, share: float) -> float:
        """The edge that so large a share of looks stays below, in seconds: an upper bound."""
        return next((edge for edge in sorted(self.at_most) if self.share(edge) >= share), float("inf"))


@asynccontextmanager
async def on_models(model_set: str, folder: Path) -> AsyncIterator[int]:
    """A gateway on a Triton; its port."""
    with triton(model_set, folder) as address:
        async with gateway(address, folder, SETTINGS) as (port, _):
            yield port


@asynccontextmanager
async def on_fixed_models(folder: Path) -> AsyncIterator[int]:
    """A gateway on models that take a hundredth of a second, whatever they are asked; its port."""
    port = Ports.free().http
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    command = [sys.executable, "-m", "loadtest.overload.fixed_gateway", cores, str(FIXED_CALL_S)]
    environment = without_settings(os.environ) | SETTINGS | {"OCR_PORT": str(port)}
    with running(command, folder / "gateway.log", environment) as process:
        await ready(f"http://{LOOPBACK}:{port}/readyz", process)
        yield port


async def lags(model_set: str, seconds: float, active: tuple[int, ...]) -> Mapping[str, list[Lag]]:
    """By kind of models, for each number of active clients."""
    found = {}
    for name in ("stand-in", model_set):
        with TemporaryDirectory(prefix="growth-") as folder:
            stand = on_fixed_models(Path(folder)) if name == "stand-in" else on_models(model_set, Path(folder))
            found[name] = await _lags(stand, seconds, active)
    return found


async def _lags(stand: AbstractAsyncContextManager[int], seconds: float, active: tuple[int, ...]) -> list[Lag]:
    async with stand as port:
        found = []
        for number in active:
            found.append(await lag(port, seconds, number))
            say(f"{number} active: {found[-1].share(0.01):.2%} of looks within 10 ms, {found[-1].answered} pages")
        return found


async def lag(port: int, seconds: float, active: int) -> Lag:
    """Connect so many, have so many of them ask for so long, and look."""
    url, page = f"http://{LOOPBACK}:{port}/metrics", reference_page().data
    answered = 0
    stop = asyncio.Event()

    async def keep_asking(connection: Connection) -> None:
        nonlocal answered
        while not stop.is_set():
            answer = await connection.post("/v1/ocr?timeout=600", page)
            answered += answer.status == OK
            if answer.status != OK:  # refused: there is a limit of requests under way
                await asyncio.sleep(float(answer.headers.get("retry-after", "1")))

    with ExitStack() as stack:
        connections = [stack.enter_context(Connection(LOOPBACK, port)) for _ in range(IDLE + active)]
        for connection in connections:
            await connection.get("/livez")
        asking = [asyncio.create_task(keep_asking(connection)) for connection in connections[:active]]
        await asyncio.sleep(WARM_UP_S)
        before, answered = await _buckets(url), 0
        await asyncio.sleep(seconds)
        after, done = await _buckets(url), answered
        stop.set()
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    return Lag(IDLE, active, done, seconds, {edge: after[edge] - before[edge] for edge in after})


async def _buckets(url: str) -> Buckets:
    return {float(sample.labels["le"]): sample.value for sample in await read_samples(url, LAG_BUCKETS)}
