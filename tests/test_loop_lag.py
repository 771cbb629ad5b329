import asyncio
import time
from contextlib import suppress

from gateway.loop_lag import watch_loop_lag
from gateway.metrics import LOOP_LAG_SECONDS


async def test_what_stands_on_the_event_loop_shows_as_lag():
    before = LOOP_LAG_SECONDS._sum.get()
    watching = asyncio.create_task(watch_loop_lag(interval_s=0.01))
    await asyncio.sleep(0.005)
    time.sleep(0.2)  # noqa: ASYNC251 - a step that blocks
    await asyncio.sleep(0.02)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    assert LOOP_LAG_SECONDS._sum.get() - before > 0.15
