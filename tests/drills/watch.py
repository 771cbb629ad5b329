"""Asks the gateways' probes all the time, as an orchestrator does, and remembers the answers."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import httpx

from tests.drills.processes import Gateway

READY_EVERY_S = 0.05
ALIVE_EVERY_S = 0.25
TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Sight:
    """One answer of a probe.

    Attributes:
        at: when it came, on the monotonic clock.
        gateway: which one was asked.
        yes: whether it was 200.
    """

    at: float
    gateway: str
    yes: bool


class Watch:
    """Looks at every gateway; `async with Watch(gateways) as watch:`.

    Attributes:
        ready: answers of /readyz, in the order in which they came.
        alive: answers of /livez.
    """

    def __init__(self, gateways: Sequence[Gateway]) -> None:
        self.ready: list[Sight] = []
        self.alive: list[Sight] = []
        self._gateways = gateways
        self._looking: list[asyncio.Task[None]] = []
        self._client = httpx.AsyncClient(trust_env=False, timeout=TIMEOUT_S)

    async def __aenter__(self) -> Self:
        for gateway in self._gateways:
            self._looking += [
                asyncio.create_task(self._look(gateway, "readyz", READY_EVERY_S, self.ready)),
                asyncio.create_task(self._look(gateway, "livez", ALIVE_EVERY_S, self.alive)),
            ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        await self._client.aclose()

    def all_ready(self) -> bool:
        """Whether every gateway said so when it was last asked."""
        latest = {sight.gateway: sight.yes for sight in self.ready}
        return all(latest.values())

    async def _look(self, gateway: Gateway, probe: str, every_s: float, seen: list[Sight]) -> None:
        while True:
            try:
                yes = (await self._client.get(f"{gateway.url}/{probe}")).is_success
            except httpx.TransportError:
                yes = False
            seen.append(Sight(time.monotonic(), gateway.name, yes))
            await asyncio.sleep(every_s)
