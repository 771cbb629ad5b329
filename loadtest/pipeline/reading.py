"""What is measured of two sides that read the same pages: in turn, so that a slower machine favours none."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, Protocol

from loadtest.growth.drawn import DrawnPage
from loadtest.growth.peaks import forget_peaks, peak_bytes
from loadtest.terminal import say
from triton_models.processes import group_members


@dataclass(frozen=True, slots=True)
class Lines:
    """What came of a page.

    Attributes:
        texts: of the lines that were read.
        told: what else the side said: why there are none, or warnings.
    """

    texts: tuple[str, ...]
    told: str = ""


class Side(Protocol):
    """One of the two."""

    served: Any

    async def read(self, page: bytes) -> Lines:
        """Have a page read."""


@dataclass(slots=True)
class Rates:
    """Rounds of one side at one concurrency.

    Attributes:
        pages_per_s: of each round; pages that were lost are none.
        latencies_s: of all pages that were not lost.
        lost: what each lost page's client was told.
    """

    pages_per_s: list[float] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Single:
    """One page read alone.

    Attributes:
        page: its name.
        side: who read it.
        seconds: it took.
        peak_bytes: of all of Triton's processes meanwhile, resident.
        lines: what came.
    """

    page: str
    side: str
    seconds: float
    peak_bytes: int
    lines: Lines


async def rates(
    sides: Mapping[str, Side], pages: Sequence[bytes], concurrencies: Sequence[int], *, rounds: int, count: int
) -> Mapping[int, Mapping[str, Rates]]:
    """By concurrency and side: so many rounds of at least so many pages; A B, B A."""
    found = {concurrency: {name: Rates() for name in sides} for concurrency in concurrencies}
    for number in range(rounds):
        for concurrency, by_side in found.items():
            for name in list(sides)[:: 1 if number % 2 == 0 else -1]:
                await _round(sides[name], pages, max(count, concurrency), concurrency, by_side[name])
                say(f"{name}: {by_side[name].pages_per_s[-1]:.2f} pages/s, {concurrency} at a time")
    return found


async def _round(side: Side, pages: Sequence[bytes], count: int, concurrency: int, found: Rates) -> None:
    waiting = iter(list(islice(cycle(pages), count)))
    answered = 0

    async def one_after_another() -> None:
        nonlocal answered
        for page in waiting:
            started = time.perf_counter()
            lines = await side.read(page)
            if lines.texts:
                found.latencies_s.append(time.perf_counter() - started)
                answered += 1
            else:
                found.lost.append(lines.told)

    started = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(concurrency)))
    found.pages_per_s.append(answered / (time.perf_counter() - started))


async def single(name: str, side: Side, page: DrawnPage) -> Single:
    """Read a page alone, and watch the memory of Triton's processes."""
    pids = group_members(side.served.server.pid)
    forget_peaks(pids)
    started = time.perf_counter()
    lines = await side.read(page.data)
    taken = Single(page.name, name, time.perf_counter() - started, peak_bytes(pids), lines)
    say(
        f"{name}, {page.name}: {taken.seconds:.1f} s, {taken.peak_bytes >> 20} MiB, "
        f"{len(lines.texts)} lines; {lines.told}"
    )
    return taken
