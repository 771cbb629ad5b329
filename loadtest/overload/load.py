"""Load: an open loop that asks on time whatever comes back, and a closed one that finds out how much can be answered.

Real clients do not wait for each other, so an overload must be an open loop: in a closed one a slow service is asked
less often, and its worst seconds hardly appear.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadtest.overload.client import Client
from loadtest.overload.reply import Reply


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests of one kind.

    Attributes:
        name: in results.
        rate: requests per second, without those that are sent again.
        request: the bytes of each.
        retries: how often one that got no page is sent again, at once.
    """

    name: str
    rate: float
    request: bytes = field(repr=False)
    retries: int = 0


async def offer(client: Client, streams: Sequence[Stream], seconds: float) -> list[Reply]:
    """Ask for so long, and wait for every answer."""
    replies: list[Reply] = []
    await asyncio.gather(*(_offer(client, stream, seconds, replies) for stream in streams))
    return replies


async def _offer(client: Client, stream: Stream, seconds: float, replies: list[Reply]) -> None:
    began_at = time.monotonic()
    async with asyncio.TaskGroup() as asking:
        for number in range(round(stream.rate * seconds)):
            due_at = began_at + number / stream.rate
            await asyncio.sleep(max(0.0, due_at - time.monotonic()))
            asking.create_task(_ask(client, stream, due_at, replies))


async def _ask(client: Client, stream: Stream, due_at: float, replies: list[Reply]) -> None:
    for _ in range(1 + stream.retries):
        reply = await exchange(client, stream.name, stream.request, due_at)
        replies.append(reply)
        if reply.accepted:
            return
        due_at = reply.ended_at


async def ask_in_turns(client: Client, request: bytes, *, clients: int, seconds: float) -> list[Reply]:
    """A closed loop: so many clients, each of which asks again when it has its answer."""
    replies: list[Reply] = []
    end = time.monotonic() + seconds

    async def keep_asking() -> None:
        while (now := time.monotonic()) < end:
            replies.append(await exchange(client, f"{clients} clients", request, now))

    await asyncio.gather(*(keep_asking() for _ in range(clients)))
    return replies


async def exchange(client: Client, stream: str, request: bytes, due_at: float) -> Reply:
    """One request and its answer."""
    sent_at = time.monotonic()
    answer = await client.ask(request)
    return Reply(stream, due_at, sent_at, time.monotonic(), answer)
