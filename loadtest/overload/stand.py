"""The processes: a gateway on cores of its own, and nginx as `deploy/nginx` configures it."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from loadtest.overload.errors import OverloadError
from tests.deployed_nginx import Nginx, nginx_is_missing
from tests.deployed_nginx import running as running_nginx
from tests.drills.errors import DrillError
from tests.drills.processes import is_success, wait_until, without_settings
from triton_models.processes import die_with_parent
from triton_models.server import LOOPBACK, Ports

CALL_S = 0.01
DEADLINE_S = 1.0
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 40.0
FOR_ONE_GATEWAY = {"limit_conn all 128": "limit_conn all 64", "limit_conn batch 64": "limit_conn batch 32"}
"""The outer caps are made for two gateways; here is one."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Who runs where.

    Attributes:
        gateway: one core, as a gateway process can't use many more.
        others: client and nginx.
    """

    gateway: frozenset[int]
    others: frozenset[int]

    @classmethod
    def of(cls, available: Sequence[int]) -> Self:
        """The last core for the gateway, the rest for the others; one core is for all.

        Raises:
            OverloadError: there is but one: nothing would be measured but the client.
        """
        if len(available) < 2:
            raise OverloadError("two cores are needed: one for the gateway, one for those who ask")
        return cls(frozenset(sorted(available)[-1:]), frozenset(sorted(available)[:-1]))


@dataclass(frozen=True, slots=True)
class Stand:
    """A gateway, directly or behind nginx.

    Attributes:
        name: in results.
        port: where clients ask.
        gateway_port: where the gateway itself does.
        gateway_pid: its process.
        log_file: what it writes down.
    """

    name: str
    port: int
    gateway_port: int
    gateway_pid: int
    log_file: Path


@asynccontextmanager
async def gateway_alone(folder: Path, cores: Cores) -> AsyncIterator[Stand]:
    """A gateway that is ready; its log stays in the folder."""
    port = Ports.free().http
    settings = {"OCR_PORT": str(port), "OCR_TIMEOUT_S": str(DEADLINE_S), "OCR_DRAIN_DELAY_S": "0"}
    module = "loadtest.overload.fixed_gateway"
    command = [sys.executable, "-m", module, ",".join(map(str, sorted(cores.gateway))), str(CALL_S)]
    log_file = folder / f"gateway-{port}.log"
    with running(command, log_file, without_settings(os.environ) | settings) as process:
        await ready(f"http://{LOOPBACK}:{port}/readyz", process)
        yield Stand("alone", port, port, process.pid, log_file)


@asynccontextmanager
async def gateway_behind_nginx(folder: Path, cores: Cores) -> AsyncIterator[Stand]:
    """The same with nginx in front, which runs where this process does."""
    async with gateway_alone(folder, cores) as alone:
        nginx = configured_nginx(folder / f"nginx-{alone.port}", alone.port)
        with running_nginx(nginx):
            yield replace(alone, name="behind nginx", port=nginx.port)


STANDS = {"alone": gateway_alone, "nginx": gateway_behind_nginx}


def possible(names: Sequence[str]) -> list[str]:
    """Those that this machine can build."""
    return [name for name in names if name != "nginx" or not nginx_is_missing()]


def configured_nginx(folder: Path, gateway_port: int) -> Nginx:
    """An nginx that has yet to be started, as deployed but for addresses, paths and the number of gateways."""
    return Nginx(folder, [gateway_port], replaced=FOR_ONE_GATEWAY)


@contextmanager
def running(
    command: Sequence[str], log_file: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended, in an orderly way if it can be, with the block; on the main thread."""
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            die_with_parent(list(command)), env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def ready(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until the address answers 200.

    Raises:
        OverloadError: the process ended, or it took too long.
    """

    async def is_ready() -> bool:
        if process.poll() is not None:
            raise OverloadError(f"{process.args!r} ended with exit code {process.returncode}")
        return await is_success(url)

    try:
        await wait_until(is_ready, START_TIMEOUT_S, f"{url} does not answer")
    except DrillError as error:
        raise OverloadError(str(error)) from error
