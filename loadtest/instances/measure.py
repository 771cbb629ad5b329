"""Measures a real Triton with so many instances, and one process with as many sessions beside it."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import psutil
from tritonclient.grpc.service_pb2 import ModelInferRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from loadtest.accuracy.circumstances import ROOT
from loadtest.instances.models import BUSY, Subject, add_cost, built_repository, echo_request
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess
from triton_models.shared_memory import FOLDER

CLIENTS = 8
"""Requests under way; twice as many as instances at the most."""
WARM_UP_S, LOAD_S = 1.0, 6.0
LARGE_BYTES = 16 << 20
SMALL_AFTERWARDS = 100


@dataclass(frozen=True, slots=True)
class Cost:
    """What instances cost.

    Attributes:
        name: of the model.
        instances: their number.
        start_s: from the server's start until all are ready.
        resident: bytes of their processes, libraries counted for each.
        proportional: the same, what several map divided among them (PSS).
        shared_memory: bytes in /dev/shm.
        per_s: requests a second with CLIENTS under way.
        core_s: of processors, for a request: the server's and its instances'.
    """

    name: str
    instances: int
    start_s: float
    resident: int
    proportional: int
    shared_memory: int
    per_s: float
    core_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """What a server did under load: requests, in how many seconds, and seconds of processors."""

    done: int
    took_s: float
    core_s: float


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Bytes in /dev/shm of one server as it works.

    Attributes:
        instances: of its model.
        at_start, after_small, after_large, afterwards: when the server is ready, after small requests, after large ones
            for every instance, and after small ones again.
    """

    instances: int
    at_start: int
    after_small: int
    after_large: int
    afterwards: int


def measure(runtime: TritonRuntime, subject: Subject, instances: int) -> Cost:
    """Start a server with so many instances, load it, and look."""
    with tempfile.TemporaryDirectory(prefix="instances-") as folder:
        server = server_in(runtime, Path(folder), lambda repository: subject.add(repository, instances))
        began_at = time.monotonic()
        with server:
            start_s = time.monotonic() - began_at
            work = asyncio.run(load(server, subject.request()))
            stubs = stubs_of(server)
            assert len(stubs) == instances, f"{len(stubs)} processes for {instances} instances"
            memory = [stub.memory_full_info() for stub in stubs]
            return Cost(
                subject.name,
                instances,
                start_s,
                sum(one.rss for one in memory),
                sum(one.pss for one in memory),
                shared_memory_of(server),
                work.done / work.took_s,
                work.core_s / work.done,
            )


def measure_shared_memory(runtime: TritonRuntime, instances: int) -> SharedMemory:
    """Follow /dev/shm through small and large requests."""
    with tempfile.TemporaryDirectory(prefix="instances-") as folder:
        server = server_in(runtime, Path(folder), lambda repository: BUSY.add(repository, instances))
        with server:
            at_start = shared_memory_of(server)
            asyncio.run(ask(server, echo_request(), SMALL_AFTERWARDS))
            after_small = shared_memory_of(server)
            asyncio.run(ask(server, echo_request(LARGE_BYTES), 6 * instances))
            after_large = shared_memory_of(server)
            asyncio.run(ask(server, echo_request(), SMALL_AFTERWARDS))
            return SharedMemory(instances, at_start, after_small, after_large, shared_memory_of(server))


def measure_monitor(runtime: TritonRuntime) -> dict[str, float]:
    """Microseconds that the memory monitor takes: of an execute, and of one that tells the server."""
    with tempfile.TemporaryDirectory(prefix="instances-") as folder, server_in(runtime, Path(folder), add_cost):
        return json.loads((Path(folder) / "models" / "cost" / "cost.json").read_text())


def measure_threads(sessions: int) -> Cost:
    """One process with so many sessions of the recogniser, a thread each."""
    model = built_repository() / "text_recognition" / "1" / "model.onnx"
    command = [sys.executable, "-m", "loadtest.instances.threads", str(model), str(sessions), str(LOAD_S)]
    answer = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return Cost(
        "threads",
        sessions,
        answer["start_s"],
        answer["resident"],
        answer["proportional"],
        0,
        answer["per_s"],
        answer["core_s"],
    )


def server_in(runtime: TritonRuntime, folder: Path, add: Callable[[Path], None]) -> TritonProcess:
    """A server that is yet to be started, of what `add` puts into its repository."""
    add(folder / "models")
    return TritonProcess(runtime, folder / "models", log_file=folder / "log", ports=Ports.free())


async def load(server: TritonProcess, request: ModelInferRequest) -> Work:
    """Keep CLIENTS requests under way, first for a second, then for LOAD_S, which are counted."""
    async with grpc.aio.insecure_channel(server.grpc_address) as channel:
        stub = GRPCInferenceServiceStub(channel)

        async def client(end: float) -> int:
            done = 0
            while time.monotonic() < end:
                await stub.ModelInfer(request, timeout=60)
                done += 1
            return done

        async def clients(seconds: float) -> int:
            end = time.monotonic() + seconds
            return sum(await asyncio.gather(*(client(end) for _ in range(CLIENTS))))

        await clients(WARM_UP_S)
        began_at, core_s = time.monotonic(), core_s_of(server)
        done = await clients(LOAD_S)
        return Work(done, time.monotonic() - began_at, core_s_of(server) - core_s)


async def ask(server: TritonProcess, request: ModelInferRequest, times: int) -> None:
    """Send a request so many times, CLIENTS at once."""
    any_size = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    places = asyncio.Semaphore(CLIENTS)
    async with grpc.aio.insecure_channel(server.grpc_address, options=any_size) as channel:
        stub = GRPCInferenceServiceStub(channel)

        async def once() -> None:
            async with places:
                await stub.ModelInfer(request, timeout=60)

        await asyncio.gather(*(once() for _ in range(times)))


def stubs_of(server: TritonProcess) -> list[psutil.Process]:
    """The processes of its instances."""
    children = psutil.Process(server.pid).children(recursive=True)
    return [child for child in children if "triton_python_backend_stub" in child.name() + " ".join(child.cmdline())]


def core_s_of(server: TritonProcess) -> float:
    """Seconds of processors that the server and its instances have used."""
    times = [process.cpu_times() for process in (psutil.Process(server.pid), *stubs_of(server))]
    return sum(one.user + one.system for one in times)


def shared_memory_of(server: TritonProcess) -> int:
    """Bytes that its files in /dev/shm take."""
    return sum(path.stat().st_blocks * 512 for path in FOLDER.glob(f"{server.shm_prefix}*"))
