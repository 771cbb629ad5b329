"""Signs of life for systemd, and the unit that asks for them."""

import asyncio
import os
import socket
from configparser import ConfigParser
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.settings import Settings
from gateway.watchdog import give_signs_of_life, sign_interval_s

UNIT = Path(__file__).parents[1] / "deploy" / "systemd" / "ocr-gateway@.service"


@asynccontextmanager
async def listening(address):
    """What systemd would hear."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.setblocking(False)
        receiver.bind(address)

        async def hear():
            return await asyncio.get_running_loop().sock_recv(receiver, 100)

        yield hear


@pytest.mark.parametrize("abstract", [False, True])
async def test_it_is_ready_once_and_alive_again_and_again(tmp_path, abstract):
    name = f"ocr-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    told = {"NOTIFY_SOCKET": f"@{name}" if abstract else name, "WATCHDOG_USEC": "40000"}
    async with listening(f"\0{name}" if abstract else name) as hear:
        telling = asyncio.create_task(give_signs_of_life(told))
        assert [await hear() for _ in range(4)] == [b"READY=1"] + 3 * [b"WATCHDOG=1"]
        telling.cancel()


async def test_a_service_without_a_watchdog_says_only_that_it_is_ready(tmp_path):
    async with listening(str(tmp_path / "notify")) as hear:
        await give_signs_of_life({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        assert await hear() == b"READY=1"


async def test_without_systemd_nothing_is_told():
    await give_signs_of_life({"WATCHDOG_USEC": "4000000"})


async def test_that_nobody_listens_is_no_reason_to_end(tmp_path, caplog):
    await give_signs_of_life({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert "no sign of life could be given" in caplog.text


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "4000000"}, 1.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": str(os.getpid())}, 1.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}, 0.0),
    ],
)
def test_there_are_four_signs_in_the_time_that_systemd_waits(environment, expected):
    assert sign_interval_s(environment) == expected


def test_the_unit_fits_the_defaults():
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read_string(UNIT.read_text())
    service = unit["Service"]
    longest_s = Settings.model_fields["drain_delay_s"].default + Settings.model_fields["max_timeout_s"].default + 2
    assert float(service["TimeoutStopSec"]) >= longest_s
    # Anything but SIGKILL would wait in a process that was stopped.
    assert (service["Type"], service["WatchdogSignal"], service["Restart"]) == ("notify", "SIGKILL", "always")
