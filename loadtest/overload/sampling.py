"""What the gateway takes while it is asked: memory, ten times a second; pixels, once a second; processor time."""

import asyncio
import time
from contextlib import suppress
from typing import Self

import httpx
import psutil

from loadtest.overload.stand import Stand
from tests.drills.processes import read_samples
from triton_models.server import LOOPBACK

MEMORY_EVERY_S, PIXELS_EVERY_S = 0.1, 1.0
PIXELS = "ocr_admission_pixels_in_use"


class Sampler:
    """Looks for as long as its block lasts.

    Attributes:
        memory: resident bytes of the gateway, in the order of time.
        pixels: of the images that are under way.
        processor_s: processor time that the gateway has used, once the block is left.
        seconds: that the block lasted.
    """

    def __init__(self, stand: Stand) -> None:
        self.memory: list[int] = []
        self.pixels: list[int] = []
        self.processor_s = self.seconds = 0.0
        self._process = psutil.Process(stand.gateway_pid)
        self._metrics = f"http://{LOOPBACK}:{stand.gateway_port}/metrics"
        self._looking: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self.processor_s, self.seconds = -self._processor_time(), -time.monotonic()
        self._looking = [asyncio.create_task(self._weigh()), asyncio.create_task(self._count())]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.processor_s += self._processor_time()
        self.seconds += time.monotonic()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)

    def _processor_time(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system

    async def _weigh(self) -> None:
        while True:
            self.memory.append(self._process.memory_info().rss)
            await asyncio.sleep(MEMORY_EVERY_S)

    async def _count(self) -> None:
        while True:
            with suppress(httpx.TransportError):  # there is no answer under a flood of connections
                self.pixels += [int(sample.value) for sample in await read_samples(self._metrics, PIXELS)]
            await asyncio.sleep(PIXELS_EVERY_S)
