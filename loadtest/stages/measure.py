"""Reading pages again and again, and what that cost on a processor: through HTTP, and stage by stage without it."""

import asyncio
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.detector import Detector
from gateway.inference.triton import TritonBackend
from gateway.line_reader import LineReader
from gateway.metrics import StageTimes
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.pipeline import OcrPipeline
from loadtest.gpu.http_client import Connection
from loadtest.gpu.pages import PageFile
from loadtest.overload.stand import ready, running
from loadtest.stages.flame import Sampler, draw
from loadtest.stages.measured_pool import MeasuredPool
from loadtest.stages.processor_time import of_process
from tests.drills.processes import without_settings
from triton_models.server import LOOPBACK, Ports

PAGE_TIMEOUT_S = 600.0
OK = 200
FLAME_REPEATS = 40
STAGES: Mapping[str, str] = {
    "open_picture": "decode",
    "decode_picture": "decode",
    "prepare_detection": "prepare",
    "with_ink": "prepare",
    "join": "prepare",
    "find_text_regions": "regions",
    "plane_if_grey": "crops",
    "cut_crops": "crops",
    "decode_crops": "ctc",
    "in_reading_order": "order",
    "arranged": "order",
}
"""The stage of each function that runs on the pool."""
EVENT_LOOP = "chunks, messages, gRPC"
HTTP = "HTTP, JSON, admission, metrics"


@dataclass(slots=True)
class Costs:
    """What one mix cost.

    Attributes:
        pages: how many there are in it.
        lines: on an average page.
        megapixels: of an average page.
        total_ms: through HTTP, for each page, per repetition: the mean over the mix.
        stages_ms: without HTTP, likewise, by stage.
        peak_bytes: the most that a stage held beyond what it found, on any page.
    """

    pages: int
    lines: float = 0.0
    megapixels: float = 0.0
    total_ms: list[float] = field(default_factory=list)
    stages_ms: dict[str, list[float]] = field(default_factory=dict)
    peak_bytes: dict[str, int] = field(default_factory=dict)

    def rest_ms(self) -> float:
        """What HTTP takes: the medians' difference."""
        return statistics.median(self.total_ms) - statistics.median(self.sums_ms())

    def sums_ms(self) -> list[float]:
        """What all stages took together, per repetition."""
        return [sum(parts) for parts in zip(*self.stages_ms.values(), strict=True)]


@contextmanager
def remembering(triton: str, folder: Path) -> Iterator[str]:
    """The stand-in for a Triton; its address."""
    port = Ports.free().grpc
    command = [sys.executable, "-m", "loadtest.stages.remembering", triton, str(port)]
    with running(command, folder / "remembering.log"):
        yield f"{LOOPBACK}:{port}"


@asynccontextmanager
async def gateway(
    address: str, folder: Path, more_settings: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[int, int]]:
    """A gateway on it as `run` starts it; its port and process."""
    port = Ports.free().http
    settings = {
        "OCR_TRITON_ADDRESSES": address,
        "OCR_PORT": str(port),
        "OCR_DRAIN_DELAY_S": "0",
        "OCR_TIMEOUT_S": str(PAGE_TIMEOUT_S),
        "OCR_MAX_TIMEOUT_S": str(PAGE_TIMEOUT_S),
        "OCR_CANARY_INTERVAL_S": "600",
        "OCR_CANARY_TIMEOUT_S": "60",
        **(more_settings or {}),
    }
    command = [sys.executable, "-m", "gateway", "run"]
    with running(command, folder / "gateway.log", without_settings(os.environ) | settings) as process:
        await ready(f"http://{LOOPBACK}:{port}/readyz", process)
        yield port, process.pid


class Reader:
    """Reads pages without HTTP, on this process's event loop and one thread."""

    def __init__(self, backend: TritonBackend) -> None:
        self._pool = MeasuredPool()
        self._batcher = Batcher(backend, BatchLimits())
        self._pipeline = pipeline(backend, self._batcher, self._pool)

    async def read(self, data: bytes) -> Page:
        """Read one."""
        deadline = Deadline.after(PAGE_TIMEOUT_S)
        return await self._pipeline.read_first(data, PageOptions(), deadline=deadline, times=StageTimes())

    async def stages(self, data: bytes) -> dict[str, float]:
        """What each stage of one page takes, in milliseconds."""
        self._pool.take()
        started = time.process_time()
        await self.read(data)
        spent = time.process_time() - started
        stages = dict.fromkeys([*STAGES.values()], 0.0)
        for function, seconds in self._pool.take().items():
            stages[STAGES[function]] += 1e3 * seconds
        return {**stages, EVENT_LOOP: 1e3 * spent - sum(stages.values())}

    async def peaks(self, data: bytes) -> dict[str, int]:
        """What each stage of one page holds at most beyond what it found, in bytes."""
        self._pool.peak_bytes.clear()
        tracemalloc.start()
        await self.read(data)
        tracemalloc.stop()
        peaks = dict.fromkeys(STAGES.values(), 0)
        for function, count in self._pool.peak_bytes.items():
            peaks[STAGES[function]] = max(peaks[STAGES[function]], count)
        return peaks

    async def close(self) -> None:
        """End it."""
        await self._batcher.close()
        self._pool.close()


def pipeline(backend: TritonBackend, batcher: Batcher, pool: CpuPool) -> OcrPipeline:
    """As the gateway puts it together."""
    lines, decoders = LineReader(backend, batcher, pool), Decoders(pool, DecodeLimits())
    return OcrPipeline(backend, Detector(backend, calls_in_flight=2), lines, pool, decoders)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured.

    Attributes:
        costs: by mix.
        flame: of the first mix, without HTTP (SVG).
    """

    costs: Mapping[str, Costs]
    flame: str


async def measure(triton: str, mixes: Mapping[str, Sequence[PageFile]], repeats: int, folder: Path) -> Measured:
    """What the mixes cost: each page once unmeasured, then in turn so often through HTTP and without it."""
    with remembering(triton, folder) as address:
        async with gateway(address, folder) as (port, pid):
            backend = await TritonBackend.connect(address)
            reader = Reader(backend)
            with Connection(LOOPBACK, port) as connection:
                costs = await _measure(_Stand(connection, pid, reader), mixes, repeats)
            flame = await flame_of(reader, next(iter(mixes.values())))
            await reader.close()
            await backend.close()
    return Measured(costs, flame)


async def flame_of(reader: Reader, pages: Sequence[PageFile]) -> str:
    """A flame graph of reading these pages."""
    with Sampler().running() as sampler:
        for _ in range(FLAME_REPEATS):
            for page in pages:
                await reader.read(page.data)
    return draw(sampler.stacks, FLAME_REPEATS * len(pages))


@dataclass(frozen=True, slots=True)
class _Stand:
    connection: Connection
    pid: int
    reader: Reader

    async def ask(self, page: PageFile) -> float:
        """What one page costs the gateway, in milliseconds."""
        started = of_process(self.pid)
        answer = await self.connection.post(f"/v1/ocr?timeout={PAGE_TIMEOUT_S:g}", page.data)
        await asyncio.sleep(SETTLE_S)
        if answer.status != OK:
            raise RuntimeError(f"{page.name}: {answer.status} {answer.body[:300]!r}")
        return 1e3 * (of_process(self.pid) - started)


SETTLE_S = 0.02
"""What the gateway does after its answer, it does for that page too; idle, it takes a hundredth of a millisecond."""


async def _measure(stand: _Stand, mixes: Mapping[str, Sequence[PageFile]], repeats: int) -> dict[str, Costs]:
    costs = {name: await _warmed_up(stand, pages) for name, pages in mixes.items()}
    for _ in range(repeats):
        for name, pages in mixes.items():
            await _repeat(stand, pages, costs[name])
    return costs


async def _warmed_up(stand: _Stand, pages: Sequence[PageFile]) -> Costs:
    costs = Costs(len(pages))
    for page in pages:
        await stand.ask(page)
        read = await stand.reader.read(page.data)
        costs.lines += len(read.lines) / len(pages)
        costs.megapixels += read.width * read.height / 1e6 / len(pages)
        for stage, peak in (await stand.reader.peaks(page.data)).items():
            costs.peak_bytes[stage] = max(peak, costs.peak_bytes.get(stage, 0))
    return costs


async def _repeat(stand: _Stand, pages: Sequence[PageFile], costs: Costs) -> None:
    total_ms, stages_ms = 0.0, dict[str, float]()
    for page in pages:
        total_ms += await stand.ask(page) / len(pages)
        for stage, spent in (await stand.reader.stages(page.data)).items():
            stages_ms[stage] = stages_ms.get(stage, 0.0) + spent / len(pages)
    costs.total_ms.append(total_ms)
    for stage, spent in stages_ms.items():
        costs.stages_ms.setdefault(stage, []).append(spent)
