"""Those who are measured: each starts its processes, and is asked page by page."""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.gateway_reader import Answer
from loadtest.accuracy.rapidocr_reader import RapidocrReader
from loadtest.accuracy.readings import Line, Reading
from loadtest.overload.stand import running
from loadtest.stages.measure import PAGE_TIMEOUT_S, gateway
from loadtest.terminal import say
from tests.drills.processes import is_success, wait_until
from triton_models.runtime import install_runtime
from triton_models.server import LOOPBACK, Ports, TritonProcess

GATEWAY, API, LIBRARY = "gateway", "rapidocr_api", "rapidocr"
START_TIMEOUT_S = 180.0

Read = Callable[[Path], Awaitable[tuple[Line, ...]]]


@dataclass(frozen=True, slots=True)
class Contestant:
    """Someone who reads pages.

    Attributes:
        name: in results.
        ask: has one page read; whatever it raises is that page's error.
        processes: whose memory counts, with their children.
    """

    name: str
    ask: Read
    processes: frozenset[psutil.Process]

    async def read(self, image: Path) -> Reading:
        """Read one page; the time is the client's."""
        started = time.perf_counter()
        try:
            lines = await self.ask(image)
        except (httpx.HTTPError, ValueError) as error:
            return Reading(seconds=time.perf_counter() - started, error=f"{type(error).__name__}: {error}")
        return Reading(seconds=time.perf_counter() - started, lines=lines)


@asynccontextmanager
async def gateway_contestant(repository: Path, name: str = GATEWAY) -> AsyncIterator[Contestant]:
    """A Triton with this repository, and a gateway before it."""
    before, runtime = own_children(), install_runtime(ROOT / ".local" / "triton", say)
    with (
        tempfile.TemporaryDirectory(prefix="peers-") as folder,
        TritonProcess(runtime, repository, log_file=Path(folder) / "triton.log", ports=Ports.free()) as server,
    ):
        async with gateway(server.grpc_address, Path(folder)) as (port, _), client_of(port) as client:

            async def ask(image: Path) -> tuple[Line, ...]:
                data = await asyncio.to_thread(image.read_bytes)
                response = await client.post("/v1/ocr", content=data, params={"timeout": PAGE_TIMEOUT_S})
                response.raise_for_status()
                return tuple(line.line() for line in Answer.model_validate_json(response.content).pages[0].lines)

            yield Contestant(name, ask, own_children() - before)


@asynccontextmanager
async def api_contestant(python: Path) -> AsyncIterator[Contestant]:
    """The API server of rapidocr, as its documentation starts it: one process, a thread for each request."""
    before, port = own_children(), Ports.free().http
    command = [str(python.with_name("rapidocr_api")), "-ip", LOOPBACK, "-p", str(port)]
    with (
        tempfile.TemporaryDirectory(prefix="peers-") as folder,
        running(command, Path(folder) / "rapidocr_api.log", dict(os.environ)),
    ):
        await wait_until(lambda: is_success(f"http://{LOOPBACK}:{port}/"), START_TIMEOUT_S, "rapidocr_api is silent")
        async with client_of(port) as client:

            async def ask(image: Path) -> tuple[Line, ...]:
                data = await asyncio.to_thread(image.read_bytes)
                response = await client.post("/ocr", files={"image_file": (image.name, data)})
                response.raise_for_status()
                return api_lines(response.json())

            yield Contestant(API, ask, own_children() - before)


def api_lines(answer: dict[str, dict[str, object]]) -> tuple[Line, ...]:
    """The lines of an answer of rapidocr_api: {"0": {"rec_txt": ..., "dt_boxes": ..., "score": ...}, ...}."""
    return tuple(
        Line.model_validate({"quad": one["dt_boxes"], "text": one["rec_txt"], "score": one["score"]})
        for one in answer.values()
    )


@asynccontextmanager
async def library_contestant(library: RapidocrReader) -> AsyncIterator[Contestant]:
    """The library in a process of its own, which reads one page after another, however many wait."""
    before, turn = own_children(), asyncio.Lock()
    with library:

        async def ask(image: Path) -> tuple[Line, ...]:
            async with turn:
                return (await asyncio.to_thread(library.read, image)).lines

        yield Contestant(LIBRARY, ask, own_children() - before)


def own_children() -> frozenset[psutil.Process]:
    """The processes that this one has started."""
    return frozenset(psutil.Process().children())


def client_of(port: int) -> AbstractAsyncContextManager[httpx.AsyncClient]:
    """Connections that stay open, as many as are wanted."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    address = f"http://{LOOPBACK}:{port}"
    return httpx.AsyncClient(base_url=address, timeout=PAGE_TIMEOUT_S, limits=limits, trust_env=False)
