"""How late the event loop is: what a heavy step on it costs every request, and what no stage shows."""

import asyncio
import time

from gateway.metrics import LOOP_LAG_SECONDS

INTERVAL_S = 0.1


async def watch_loop_lag(interval_s: float = INTERVAL_S) -> None:
    """Measure for ever how much later than asked for a sleep ends; cancel to stop."""
    while True:
        due_at = time.perf_counter() + interval_s
        await asyncio.sleep(interval_s)
        LOOP_LAG_SECONDS.observe(max(0.0, time.perf_counter() - due_at))
