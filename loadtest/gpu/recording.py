"""Reading pages without HTTP, and keeping what the models were asked: for `replay` and `memory`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.inference.backend import Backend, EndpointStatus
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.batching import PADDING
from gateway.inference.contract import Contract
from gateway.inference.detector import Detector
from gateway.line_reader import LineReader
from gateway.metrics import StageTimes
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.pipeline import OcrPipeline

PAGE_TIMEOUT_S = 600.0
"""Nobody waits for these pages, and on two cores some take minutes."""

Read = Callable[[bytes], Awaitable[Page]]


@dataclass(slots=True)
class Asked:
    """What one page asked of the models.

    Attributes:
        detections: tensors of the detector, uint8 (height, width, 3).
        lines: lines as they were sent, uint8 (line_height, bucket_width, 3), second readings included.
    """

    detections: list[Image] = field(default_factory=list)
    lines: list[Image] = field(default_factory=list)


class RecordingBackend:
    """A backend that keeps what it is asked.

    Attributes:
        asked: since it was last set.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.asked = Asked()

    @property
    def contract(self) -> Contract:
        """As `Backend.contract`."""
        return self._backend.contract

    @property
    def last_answer_at(self) -> float:
        """As `Backend.last_answer_at`."""
        return self._backend.last_answer_at

    @property
    def outage(self) -> str:
        """As `Backend.outage`."""
        return self._backend.outage

    @property
    def servers(self) -> int:
        """As `Backend.servers`."""
        return self._backend.servers

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        """As `Backend.endpoints`."""
        return self._backend.endpoints

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:
        """As `Backend.detect`."""
        self.asked.detections.append(image)
        return await self._backend.detect(image, timeout_s=timeout_s)

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        """As `Backend.recognize`."""
        self.asked.lines += [row for row in rows if line_width(row)]
        return await self._backend.recognize(rows, timeout_s=timeout_s, alternatives=alternatives)

    async def wait_for_return(self) -> None:
        """As `Backend.wait_for_return`."""
        await self._backend.wait_for_return()

    async def refresh(self) -> None:
        """As `Backend.refresh`."""
        await self._backend.refresh()

    async def close(self) -> None:
        """As `Backend.close`."""
        await self._backend.close()


def line_width(row: Image) -> int:
    """Columns up to the padding; 0 for a row that is nothing but padding."""
    used = np.flatnonzero((row != PADDING).any(axis=(0, 2)))
    return int(used[-1]) + 1 if used.size else 0


@asynccontextmanager
async def reader(backend: Backend) -> AsyncIterator[Read]:
    """A pipeline over the backend; gives `read(data)`."""
    batcher = Batcher(backend, BatchLimits())
    with CpuPool() as pool:
        lines = LineReader(backend, batcher, pool)
        decoders = Decoders(pool, DecodeLimits())
        pipeline = OcrPipeline(backend, Detector(backend, calls_in_flight=2), lines, pool, decoders)

        async def read(data: bytes) -> Page:
            deadline = Deadline.after(PAGE_TIMEOUT_S)
            return await pipeline.read_first(data, PageOptions(), deadline=deadline, times=StageTimes())

        try:
            yield read
        finally:
            await batcher.close()
