"""Client processes: one Python process sends a few hundred requests a second, and must not be what is measured."""

import asyncio
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from loadtest.gpu.load import Client, Offer, Sample, connect

SPREAD = 1_000_003
"""Between the seeds of two processes, so that they begin at different pages."""


class Clients:
    """So many processes that send pages; use it as a context manager."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._executor = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown()

    @property
    def processes(self) -> list[int]:
        """Ids of the processes."""
        return sorted({job.result() for job in [self._executor.submit(os.getpid) for _ in range(8 * self._count)]})

    def send(self, offer: Offer, pages: tuple[Path, ...]) -> list[Sample]:
        """Send the offer, divided among the processes, and wait for the end of it."""
        jobs = [self._executor.submit(send, share, pages) for share in shares(offer, self._count)]
        return [sample for job in jobs for sample in job.result()]


def shares(offer: Offer, count: int) -> list[Offer]:
    """The offer in equal parts; a closed loop of fewer requests than processes leaves some without work."""
    rates = [None if offer.rate is None else offer.rate / count] * count
    concurrencies = [offer.concurrency // count + (index < offer.concurrency % count) for index in range(count)]
    return [
        replace(offer, rate=rate, concurrency=concurrency, seed=offer.seed + SPREAD * index)
        for index, (rate, concurrency) in enumerate(zip(rates, concurrencies, strict=True))
        if rate is not None or concurrency
    ]


def send(offer: Offer, pages: tuple[Path, ...]) -> list[Sample]:
    """What one process does."""
    client = Client(offer, _data(pages), connect)
    asyncio.run(client.run())
    return client.samples


@lru_cache(maxsize=8)
def _data(pages: tuple[Path, ...]) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in pages)
