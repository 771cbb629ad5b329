"""Load on gateways: at a fixed rate whatever they do (open loop), or as fast as they answer (closed loop).

Arrivals of the open loop are a Poisson process, drawn beforehand from a seed, of which only the number is fixed: a
target at 50 requests a second is to be judged at 50 and not at what happens to be drawn. A request's time counts from
the moment it was due: a client that falls behind must not hide that. Pages and gateways are taken in turn.
"""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import Protocol

from loadtest.gpu.http_client import Answer, Connection
from loadtest.server_timing import stage_milliseconds

OCR_PATH = "/v1/ocr"
OK = 200
PAUSE_S = 0.05
"""After a refusal, in a closed loop: refusals take no time, and would be all that is measured."""
NO_ANSWER = 0
"""Stands for a status when the connection broke or time ran out."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What one client process sends.

    Attributes:
        ports: of the gateways, on the loopback interface.
        seconds: how long new requests are sent.
        rate: requests per second in an open loop; None for a closed loop.
        concurrency: requests under way in a closed loop.
        seed: of the arrivals.
        timeout_s: when a request is given up.
    """

    ports: tuple[int, ...]
    seconds: float
    rate: float | None = None
    concurrency: int = 1
    seed: int = 0
    timeout_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One request.

    Attributes:
        due_s: when it was to be sent, since the start.
        seconds: from then to the end of its answer.
        status: of HTTP, or NO_ANSWER.
        stages: seconds by stage, from the answer's Server-Timing.
    """

    due_s: float
    seconds: float
    status: int
    stages: dict[str, float]


class Poster(Protocol):
    """`Connection`, as far as it is used."""

    async def post(self, path: str, body: bytes) -> Answer:
        """Send one request and read its answer; OSError or EOFError if that failed."""

    def close(self) -> None:
        """Disconnect."""


Connect = Callable[[int], Poster]


class Client:
    """Sends requests and keeps their samples.

    Attributes:
        samples: of the requests that have ended, in that order.
    """

    def __init__(self, offer: Offer, pages: Sequence[bytes], connect: Connect) -> None:
        self.samples: list[Sample] = []
        self._offer = offer
        self._pages = pages
        self._connect = connect
        self._idle: dict[int, list[Poster]] = {port: [] for port in offer.ports}
        self._sent = offer.seed
        self._started_at = 0.0

    async def run(self) -> None:
        """Send for as long as the offer says, and wait for the answers."""
        self._started_at = time.perf_counter()
        await (self._closed_loop() if self._offer.rate is None else self._open_loop(self._offer.rate))
        for connection in chain.from_iterable(self._idle.values()):
            connection.close()

    async def _closed_loop(self) -> None:
        async def one_after_another() -> None:
            while (due_s := self._elapsed()) < self._offer.seconds:
                if await self._send(due_s) != OK:
                    await asyncio.sleep(PAUSE_S)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._offer.concurrency):
                group.create_task(one_after_another())

    async def _open_loop(self, rate: float) -> None:
        async with asyncio.TaskGroup() as group:
            for due_s in arrivals(rate, self._offer.seconds, self._offer.seed):
                await asyncio.sleep(due_s - self._elapsed())
                group.create_task(self._send(due_s))

    async def _send(self, due_s: float) -> int:
        number = self._sent
        self._sent += 1
        port = self._offer.ports[number % len(self._offer.ports)]
        idle = self._idle[port]
        connection = idle.pop() if idle else self._connect(port)
        # A client that gives up says so, as it should: else the gateway works for pages that nobody waits for.
        path = f"{OCR_PATH}?timeout={self._offer.timeout_s:g}"
        status, stages = await self._answer(connection.post(path, self._pages[number % len(self._pages)]))
        idle.append(connection)
        self.samples.append(Sample(due_s, self._elapsed() - due_s, status, stages))
        return status

    async def _answer(self, request: Awaitable[Answer]) -> tuple[int, dict[str, float]]:
        try:
            async with asyncio.timeout(self._offer.timeout_s):
                answer = await request
        except (OSError, EOFError, TimeoutError):
            return NO_ANSWER, {}
        return answer.status, stage_seconds(answer.headers.get("server-timing", ""))

    def _elapsed(self) -> float:
        return time.perf_counter() - self._started_at


def connect(port: int) -> Connection:
    """A connection to the loopback interface."""
    return Connection("127.0.0.1", port)


def arrivals(rate: float, seconds: float, seed: int) -> list[float]:
    """When requests are due: a Poisson process given the number of its arrivals, which makes them independent."""
    rng = random.Random(seed)
    return sorted(rng.uniform(0.0, seconds) for _ in range(round(rate * seconds)))


def stage_seconds(server_timing: str) -> dict[str, float]:
    """The stages of a Server-Timing header: `decode;dur=3.1, detect;dur=12.0`."""
    return {name: spent / 1000 for name, spent in stage_milliseconds(server_timing).items()}


@dataclass(frozen=True, slots=True)
class Summary:
    """What a load met.

    Attributes:
        offered_per_s: requests sent a second.
        images_per_s: pages answered a second, from the first request due to the last answer.
        statuses: how many of each.
        p50_ms, p95_ms, p99_ms: of pages; None if there were none.
        stages_ms: mean of each stage.
    """

    offered_per_s: float
    images_per_s: float
    statuses: dict[str, int]
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    stages_ms: dict[str, float]


def summarize(samples: Sequence[Sample], seconds: float) -> Summary:
    """Figures of all samples of a load that was sent for so long."""
    pages = [sample for sample in samples if sample.status == OK]
    times = sorted(sample.seconds for sample in pages)
    last = max((sample.due_s + sample.seconds for sample in samples), default=0.0)
    names = dict.fromkeys(name for sample in pages for name in sample.stages)
    return Summary(
        offered_per_s=round(len(samples) / seconds, 1),
        images_per_s=round(len(pages) / max(last, seconds), 1),
        statuses={str(status): count for status, count in sorted(Counter(one.status for one in samples).items())},
        p50_ms=percentile_ms(times, 0.5),
        p95_ms=percentile_ms(times, 0.95),
        p99_ms=percentile_ms(times, 0.99),
        stages_ms={name: round(1000 * fmean(one.stages.get(name, 0.0) for one in pages), 1) for name in names},
    )


def percentile_ms(ascending: Sequence[float], share: float) -> float | None:
    """The smallest of the times (seconds) that at least this share of them does not exceed, in milliseconds."""
    if not ascending:
        return None
    rank = max(1, math.ceil(share * len(ascending)))
    return round(1000 * ascending[rank - 1], 1)
