"""The client: sends pages at a fixed rate, whatever comes back, each with an id and on a connection of its own.

The rate does not depend on the answers (an open loop), for real clients do not wait for each other: a service that
stands still is asked as often as one that works. Connections are not reused, so that one that breaks was broken by the
service or by the drill, and never by an idle timeout that two sides saw differently.
"""

import asyncio
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self

import httpx

from tests.drills.errors import DrillError
from tests.drills.ledger import OK, Ending, Exchange
from tests.drills.pages import USUAL, Kind, Pages, SentPage, stream

GIVE_UP_S = 20.0
"""Long after every deadline. Whoever has no answer by then will have none."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How the service is asked.

    Attributes:
        rate: requests per second.
        pattern: what is sent, over and over.
        leaving: share of the requests whose client leaves before the answer.
        patience_s: how long such a client waits at most; how long exactly differs.
    """

    rate: float = 25.0
    pattern: Sequence[Kind] = USUAL
    leaving: float = 0.0
    patience_s: float = 0.04


class Load:
    """Requests to one address: `async with Load(...) as load:`; leaving the block waits until each of them has ended.

    Attributes:
        exchanges: those that have ended, in the order of their ends.
        lag_s: by how much the sender was late at worst; the client's own fault.
    """

    def __init__(self, url: str, pages: Pages, plan: LoadPlan, *, prefix: str) -> None:
        self.exchanges: list[Exchange] = []
        self.lag_s = 0.0
        self._pages: Iterator[SentPage] = stream(pages, plan.pattern)
        self._plan = plan
        self._prefix = prefix
        self._chance = random.Random(prefix)
        self._client = new_client(url)
        self._asking: set[asyncio.Task[None]] = set()
        self._sending: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._sending = asyncio.create_task(self._send())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._sending is not None
        self._sending.cancel()
        await asyncio.gather(self._sending, return_exceptions=True)
        await asyncio.gather(*self._asking)
        await self._client.aclose()

    async def _send(self) -> None:
        started = time.monotonic()
        number = 0
        while True:
            due = started + number / self._plan.rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self.lag_s = max(self.lag_s, time.monotonic() - due)
            task = asyncio.create_task(self._ask(f"{self._prefix}-{number:05d}", next(self._pages)))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
            number += 1

    async def _ask(self, request_id: str, page: SentPage) -> None:
        leaves = self._chance.random() < self._plan.leaving
        patience_s = self._chance.uniform(0.0, self._plan.patience_s) if leaves else GIVE_UP_S
        self.exchanges.append(await ask(self._client, request_id, page, patience_s=patience_s, leaves=leaves))


def new_client(url: str) -> httpx.AsyncClient:
    """A client without a pool, without limits and without patience of its own."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, limits=limits, timeout=None, trust_env=False)


async def ask(
    client: httpx.AsyncClient, request_id: str, page: SentPage, *, patience_s: float = GIVE_UP_S, leaves: bool = False
) -> Exchange:
    """Send a page and say how that ended."""
    asked = Exchange(request_id, page.name, time.monotonic(), 0.0, Ending.LEFT if leaves else Ending.SILENT)
    ending = asked
    try:
        async with asyncio.timeout(patience_s):
            response = await client.post(
                "/v1/ocr", params=page.options, content=page.data, headers={"X-Request-Id": request_id}
            )
        ending = answered(asked, response)
    except TimeoutError:
        pass
    except httpx.TransportError as error:
        ending = replace(asked, ending=Ending.LOST, code=type(error).__name__)
    return replace(ending, ended_at=time.monotonic())


def answered(asked: Exchange, response: httpx.Response) -> Exchange:
    """The exchange with what the answer says. The proxy's own problems don't name the path; or they are pages."""
    try:
        body = response.json()
    except ValueError:
        body = {"code": f"http_{response.status_code}", "instance": ""}
    if body.get("instance") == "":
        return replace(asked, ending=Ending.PROXY, status=response.status_code, code=body["code"])
    text = "\n".join(page["text"] for page in body["pages"]) if response.status_code == OK else None
    return replace(
        asked,
        ending=Ending.ANSWERED,
        status=response.status_code,
        code=body.get("code"),
        text=text,
        answered_id=body["request_id"],
    )


async def seconds_per_request(url: str, pages: Pages, *, requests: int = 60) -> float:
    """How long a request takes on average, when one is sent after the other."""
    async with new_client(url) as client:
        began_at = time.monotonic()
        for number, page in enumerate(islice(stream(pages, USUAL), requests)):
            await ask(client, f"pace-{number}", page)
        return (time.monotonic() - began_at) / requests


async def read_texts(url: str, pages: Iterable[SentPage]) -> dict[str, str]:
    """The text of each page, by name, from a service without a fault.

    Raises:
        DrillError: a page was refused.
    """
    texts = {}
    async with new_client(url) as client:
        for page in pages:
            exchange = await ask(client, f"reference-{page.name}", page)
            if exchange.text is None:
                raise DrillError(f"without a fault {page.name} ended as {exchange.outcome}")
            texts[page.name] = exchange.text
    return texts
