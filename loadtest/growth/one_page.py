"""What one page costs a gateway and a Triton that have been started for it: nothing is left of pages before it."""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from loadtest.gpu.http_client import Answer, Connection
from loadtest.gpu.load import stage_seconds
from loadtest.growth.drawn import DrawnPage
from loadtest.growth.peaks import forget_peaks, peak_bytes, resident_bytes
from loadtest.stages.measure import OK, PAGE_TIMEOUT_S, gateway
from loadtest.stages.stand import models, triton_process
from loadtest.terminal import say
from tests.drills.processes import read_samples
from triton_models.processes import group_members
from triton_models.server import LOOPBACK

TRIES, PAUSE_S = 5, 5.0
"""A machine that is busy with other things may keep Triton from giving signs of life."""
PADDED_PIXELS = "ocr_padded_pixels_total"
FOR_LARGE_PAGES: Mapping[str, str] = {
    "OCR_MAX_PIXELS": "120000000",
    "OCR_MAX_PIXELS_UNDER_WAY": "480000000",
    "OCR_MAX_BODY_BYTES": "100000000",
    "OCR_DECODER_MEMORY_BYTES": "4000000000",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes of a program's processes.

    Attributes:
        before: when it was ready and had read the known picture.
        peak: at the most, while it read the page.
    """

    before: int
    peak: int


@dataclass(slots=True)
class Cost:
    """What a page cost.

    Attributes:
        lines: that were found.
        megapixels: of the page.
        padded_megapixels: sent to recognition, padding included.
        gateway, triton: memory, the first time that the page was read.
        total_s: of each reading, at the client.
        stages_s: likewise, by stage, as the gateway tells them.
    """

    lines: int
    megapixels: float
    padded_megapixels: float
    gateway: Memory
    triton: Memory
    total_s: list[float] = field(default_factory=list)
    stages_s: list[Mapping[str, float]] = field(default_factory=list)

    @property
    def recognition_s(self) -> float:
        """What having lines read took, second readings included: the median."""
        return statistics.median(stages.get("recognize", 0.0) + stages.get("reread", 0.0) for stages in self.stages_s)

    def stage_s(self, name: str) -> float:
        """The median of a stage."""
        return statistics.median(stages.get(name, 0.0) for stages in self.stages_s)


class Watched:
    """A gateway and a Triton, asked over one connection."""

    def __init__(self, connection: Connection, gateway_pid: int, triton_pid: int, metrics_url: str) -> None:
        self._connection = connection
        self._gateway_pid = gateway_pid
        self._triton_pid = triton_pid
        self._metrics_url = metrics_url

    async def first(self, page: DrawnPage) -> Cost:
        """Read the page once, and watch the memory of all processes meanwhile."""
        before = self._resident()
        forget_peaks([*self._of_gateway(), *self._of_triton()])
        padded = await self._padded_pixels()
        answer, total_s = await self._ask(page)
        peaks = peak_bytes(self._of_gateway()), peak_bytes(self._of_triton())
        gateway, triton = (Memory(*pair) for pair in zip(before, peaks, strict=True))
        padded = await self._padded_pixels() - padded
        lines = sum(len(one["lines"]) for one in json.loads(answer.body)["pages"])
        return Cost(lines, page.pixels / 1e6, padded / 1e6, gateway, triton, [total_s], [stages_of(answer)])

    async def again(self, page: DrawnPage, cost: Cost) -> None:
        """Read the page once more, for its times."""
        answer, total_s = await self._ask(page)
        cost.total_s.append(total_s)
        cost.stages_s.append(stages_of(answer))

    async def _ask(self, page: DrawnPage) -> tuple[Answer, float]:
        for _ in range(TRIES):
            started = time.perf_counter()
            answer = await self._connection.post(f"/v1/ocr?timeout={PAGE_TIMEOUT_S:g}", page.data)
            if answer.status == OK:
                return answer, time.perf_counter() - started
            say(f"{page.name}: {answer.status} {answer.body[:300]!r}")
            await asyncio.sleep(PAUSE_S)
        raise RuntimeError(f"{page.name} was not read {TRIES} times")

    async def _padded_pixels(self) -> float:
        return sum(sample.value for sample in await read_samples(self._metrics_url, PADDED_PIXELS))

    def _resident(self) -> tuple[int, int]:
        return resident_bytes(self._of_gateway()), resident_bytes(self._of_triton())

    def _of_gateway(self) -> list[int]:
        children = psutil.Process(self._gateway_pid).children(recursive=True)
        return [self._gateway_pid, *(child.pid for child in children)]

    def _of_triton(self) -> list[int]:
        return group_members(self._triton_pid)


async def cost_of(page: DrawnPage, model_set: str, repeats: int) -> Cost:
    """Start both, read the page so often, and end them."""
    async with started(model_set) as watched:
        cost = await watched.first(page)
        for _ in range(repeats - 1):
            await watched.again(page, cost)
    say(f"{page.name}: {statistics.median(cost.total_s):.2f} s, {cost.lines} lines")
    return cost


async def costs_in_turn(first: DrawnPage, second: DrawnPage, model_set: str, repeats: int) -> tuple[Cost, Cost]:
    """Start both programs twice, one pair for each page; read the pages in turn, so that their times compare."""
    async with started(model_set) as one, started(model_set) as other:
        costs = await one.first(first), await other.first(second)
        for number in range(repeats - 1):
            turns = [(one, first, costs[0]), (other, second, costs[1])]
            for watched, page, cost in turns if number % 2 else turns[::-1]:
                await watched.again(page, cost)
    return costs


@asynccontextmanager
async def started(model_set: str) -> AsyncIterator[Watched]:
    """A Triton and a gateway of their own."""
    with TemporaryDirectory(prefix="growth-") as name, triton_process(models(model_set), Path(name)) as server:
        async with gateway(server.grpc_address, Path(name), FOR_LARGE_PAGES) as (port, pid):
            with Connection(LOOPBACK, port) as connection:
                yield Watched(connection, pid, server.pid, f"http://{LOOPBACK}:{port}/metrics")


def stages_of(answer: Answer) -> Mapping[str, float]:
    """Seconds by stage, from the header Server-Timing."""
    return stage_seconds(answer.headers.get("server-timing", ""))
