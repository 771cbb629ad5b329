"""Pages a second through HTTP and by the bare client, in turn: A B B A, so that a slower machine favours none."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from loadtest.efficiency.bare import BareClient, record
from loadtest.gpu.http_client import Connection
from loadtest.stages.measure import OK, PAGE_TIMEOUT_S, gateway
from loadtest.terminal import say
from triton_models.server import LOOPBACK

CONCURRENCIES = (1, 8, 32)

Read = Callable[[int], Awaitable[None]]


@dataclass(slots=True)
class Rates:
    """Pages a second at one concurrency, per round.

    Attributes:
        http: through the gateway.
        bare: without it.
    """

    http: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def efficiency(self) -> float:
        """The gateway's median over the bare client's."""
        return median(self.http) / median(self.bare)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Attributes:
        concurrencies: pages under way at once.
        rounds: of each kind of client.
        pages: in each round, at the least.
    """

    concurrencies: Sequence[int]
    rounds: int
    pages: int


async def measure(triton: str, pages: Sequence[Path], plan: Plan, folder: Path) -> Mapping[int, Rates]:
    """The rates by concurrency."""
    recorded = await record(triton, pages)
    data = [page.read_bytes() for page in pages]
    bare = BareClient(triton, recorded)
    rates = {concurrency: Rates() for concurrency in plan.concurrencies}
    async with gateway(triton, folder) as (port, _):
        http = HttpClient(port, data)
        for number in range(plan.rounds):
            for concurrency, one in rates.items():
                count = max(plan.pages, concurrency)
                turns = [(http.read, one.http), (bare.read, one.bare)]
                for read, found in turns if number % 2 == 0 else turns[::-1]:
                    await http.ready()
                    await read(0)
                    found.append(await rate(read, count, concurrency))
                    way = "HTTP" if found is one.http else "bare gRPC"
                    say(f"{found[-1]:.2f} pages/s, {concurrency} at a time ({way})")
                    http.close()  # or the gateway does, while the other client has its turn
    await bare.close()
    return rates


async def rate(read: Read, pages: int, concurrency: int) -> float:
    """Pages a second of so many, so many at a time; the pages in turn."""
    numbers = iter(range(pages))

    async def one_after_another() -> None:
        for number in numbers:
            await read(number)

    started = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(concurrency)))
    return pages / (time.perf_counter() - started)


class HttpClient:
    """Asks the gateway, over connections that stay open."""

    def __init__(self, port: int, pages: Sequence[bytes]) -> None:
        self._port = port
        self._pages = pages
        self._idle: list[Connection] = []

    async def ready(self) -> None:
        """Wait until the gateway is: a Triton that the other client floods gives no signs of life in time."""
        connection = Connection(LOOPBACK, self._port)
        while (await connection.get("/readyz")).status != OK:  # noqa: ASYNC110 - as a probe does
            await asyncio.sleep(0.1)
        connection.close()

    async def read(self, number: int) -> None:
        """Have one page read."""
        connection = self._idle.pop() if self._idle else Connection(LOOPBACK, self._port)
        answer = await connection.post(f"/v1/ocr?timeout={PAGE_TIMEOUT_S:g}", self._pages[number % len(self._pages)])
        if answer.status != OK:
            raise RuntimeError(f"page {number}: {answer.status} {answer.body[:300]!r}")
        self._idle.append(connection)

    def close(self) -> None:
        """Disconnect."""
        while self._idle:
            self._idle.pop().close()
