"""A few clients that ask all the time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from gateway.canary import KNOWN_PICTURE

CLIENTS = 3
PAUSE_S = 0.3
"""Between an answer and the next request of a client, however it was answered."""


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[Counter[int]]:
    """Clients at work; gives the counts of what they were answered so far, by status."""
    counts: Counter[int] = Counter()
    async with httpx.AsyncClient(base_url=url, timeout=60.0, trust_env=False) as client:
        tasks = [asyncio.create_task(_ask_for_ever(client, counts)) for _ in range(CLIENTS)]
        try:
            yield counts
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _ask_for_ever(client: httpx.AsyncClient, counts: Counter[int]) -> None:
    while True:
        try:
            answer = await client.post("/v1/ocr", content=KNOWN_PICTURE)
            counts[answer.status_code] += 1
        except httpx.TransportError:
            counts[0] += 1
        await asyncio.sleep(PAUSE_S)
