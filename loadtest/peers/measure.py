"""Closed loops of so many clients, and what the contestant's processes hold meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from loadtest.accuracy.readings import Reading
from loadtest.peers.contestants import Contestant
from loadtest.terminal import say

MEMORY_EVERY_S = 0.5
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Turn:
    """One contestant's reading of all pages.

    Attributes:
        seconds: from the first question to the last answer.
        peak_bytes: that its processes held at most, what several map divided among them (PSS).
        readings: by page, with the time that its client waited.
    """

    seconds: float
    peak_bytes: int
    readings: Mapping[Path, Reading]

    @property
    def images_per_s(self) -> float:
        """Pages that have an answer."""
        return sum(reading.error is None for reading in self.readings.values()) / self.seconds


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Attributes:
        clients: numbers of clients, each of which asks as soon as it has its answer.
        rounds: turns of each contestant with each number of clients.
    """

    clients: Sequence[int]
    rounds: int


Turns = Mapping[int, Mapping[str, Sequence[Turn]]]
"""By number of clients and contestant, in the order of rounds."""


async def measure(contestants: Sequence[Contestant], pages: Sequence[Path], warm_up: int, plan: Plan) -> Turns:
    """All turns: A B C, then C B A, so that a machine that gets slower favours none.

    Args:
        contestants: have started.
        pages: are read in this order.
        warm_up: so many of them are read before anything is measured.
        plan: see there.
    """
    for contestant in contestants:
        await take_turn(contestant, pages[:warm_up], max(plan.clients))
    turns: dict[int, dict[str, list[Turn]]] = {
        clients: {contestant.name: [] for contestant in contestants} for clients in plan.clients
    }
    for number in range(plan.rounds):
        for clients, by_name in turns.items():
            for contestant in contestants if number % 2 == 0 else contestants[::-1]:
                turn = await take_turn(contestant, pages, clients)
                by_name[contestant.name].append(turn)
                say(f"{contestant.name}, {clients} at a time: {turn.images_per_s:.2f} images/s")
    return turns


async def take_turn(contestant: Contestant, pages: Sequence[Path], clients: int) -> Turn:
    """Have each page read once, so many at a time."""
    waiting, readings = iter(pages), dict[Path, Reading]()

    async def client() -> None:
        for page in waiting:
            readings[page] = await contestant.read(page)

    async with watched(contestant.processes) as peak:
        started = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        seconds = time.perf_counter() - started
    return Turn(seconds, peak.size, readings)


@dataclass(slots=True)
class Peak:
    """The most that was seen, in bytes."""

    size: int = field(default=0)


@asynccontextmanager
async def watched(processes: Iterable[psutil.Process]) -> AsyncIterator[Peak]:
    """Look at the memory of these processes and their children as long as the block lasts."""
    peak = Peak()

    async def look() -> None:
        while True:
            peak.size = max(peak.size, await asyncio.to_thread(memory_of, processes))
            await asyncio.sleep(MEMORY_EVERY_S)

    looking = asyncio.create_task(look())
    try:
        yield peak
    finally:
        peak.size = max(peak.size, memory_of(processes))
        looking.cancel()


def memory_of(processes: Iterable[psutil.Process]) -> int:
    """Their memory and that of their children, in bytes; what is mapped by several counts once (PSS)."""
    size = 0
    for root in processes:
        with suppress(psutil.NoSuchProcess):
            for process in (root, *root.children(recursive=True)):
                size += process.memory_full_info().pss
    return size
