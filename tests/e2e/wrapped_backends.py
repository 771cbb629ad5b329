"""Backends around a real one: to see what passes, to disturb it, or to narrow what is served."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace

from gateway.arrays import Image, ProbabilityMap, Rows, RowSteps
from gateway.inference.backend import Backend, EndpointStatus
from gateway.inference.batcher import Batcher
from gateway.inference.contract import Contract


class Wrapped:
    """Passes everything on."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def contract(self) -> Contract:
        return self._backend.contract

    @property
    def last_answer_at(self) -> float:
        return self._backend.last_answer_at

    @property
    def outage(self) -> str:
        return self._backend.outage

    @property
    def servers(self) -> int:
        return self._backend.servers

    @property
    def endpoints(self) -> Sequence[EndpointStatus]:
        return self._backend.endpoints

    async def detect(self, image: Image, *, timeout_s: float) -> ProbabilityMap:
        return await self._backend.detect(image, timeout_s=timeout_s)

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        return await self._backend.recognize(rows, timeout_s=timeout_s, alternatives=alternatives)

    async def refresh(self) -> None:
        await self._backend.refresh()

    async def close(self) -> None:
        await self._backend.close()


class Watched(Wrapped):
    """Notes the shape of every chunk."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self.chunks: list[tuple[int, ...]] = []

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        self.chunks.append(rows.shape)
        return await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)


class Dawdling(Wrapped):
    """Hands answers over late, so that chunks finish in any order."""

    def __init__(self, backend: Backend, seed: int) -> None:
        super().__init__(backend)
        self._random = random.Random(seed)

    async def recognize(self, rows: Rows, *, timeout_s: float, alternatives: bool = False) -> RowSteps:
        steps = await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)
        await asyncio.sleep(self._random.uniform(0, 0.3))
        return steps


class Narrowed(Wrapped):
    """Serves these buckets only."""

    def __init__(self, backend: Backend, buckets: tuple[int, ...]) -> None:
        super().__init__(backend)
        self._buckets = buckets

    @property
    def contract(self) -> Contract:
        whole = self._backend.contract
        return replace(whole, recognition=replace(whole.recognition, buckets=self._buckets))


class Shuffling:
    """Gives a batcher the lines of a page in another order: other buckets come first, rows have other neighbours."""

    def __init__(self, batcher: Batcher, seed: int) -> None:
        self._batcher = batcher
        self._random = random.Random(seed)

    async def read(self, crops, **options):
        order = list(range(len(crops)))
        self._random.shuffle(order)
        steps = await self._batcher.read([crops[index] for index in order], **options)
        return [steps[order.index(index)] for index in range(len(crops))]
