"""The drills' stand-in for systemd."""

import asyncio
from pathlib import Path

from gateway.watchdog import give_signs_of_life
from tests.drills.watchdog import Watchdog


async def test_it_loses_patience_when_the_signs_of_life_end(tmp_path: Path) -> None:
    watchdog = Watchdog(tmp_path / "notify", patience_s=0.2)
    gateway = asyncio.create_task(give_signs_of_life(watchdog.environment))
    await asyncio.sleep(0.3)
    gateway.cancel()
    await watchdog.lose_patience()
    watchdog.close()


async def test_before_the_first_sign_it_waits_as_long_as_a_start_takes(tmp_path: Path) -> None:
    watchdog = Watchdog(tmp_path / "notify", patience_s=0.0)
    losing_patience = asyncio.create_task(watchdog.lose_patience())
    await asyncio.sleep(0.05)
    assert not losing_patience.done()
    losing_patience.cancel()
    watchdog.close()
