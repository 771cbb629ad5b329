"""What a measurement works with: the stand, how much is done, servers, modules in processes of their own."""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from loadtest.accuracy.circumstances import processor_name
from loadtest.gpu.clients import Clients
from loadtest.gpu.pages import KINDS
from loadtest.gpu.results import Notebook
from loadtest.gpu.sampling import GpuSampler
from loadtest.gpu.service import Service
from loadtest.gpu.stand import Stand, cuda_libraries

CLIENTS = 3
MODULE_TIMEOUT_S = 240.0
PACKAGES = (
    "onnxruntime-gpu",
    "numpy",
    "opencv-python-headless",
    "grpcio",
    "protobuf",
    "tritonclient",
    "uvicorn",
    "torch",
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How long and how much is measured.

    Attributes:
        seconds: of one load.
        steady_s: of a load that is to show a target.
        gateways: so many processes, ascending; the last number is the usual one.
        kinds: of pages.
        replay: (processes, calls under way in each) that ask the models alone.
        mixed_s: for ten thousand pages, at most.
    """

    seconds: float = 5.0
    steady_s: float = 10.0
    gateways: tuple[int, ...] = (1, 2, 4, 8)
    kinds: tuple[str, ...] = KINDS
    replay: tuple[tuple[int, int], ...] = ((4, 2), (8, 4))
    mixed_s: float = 240.0

    @classmethod
    def brief(cls) -> "Pace":
        """To see whether everything works."""
        return cls(seconds=1.5, steady_s=2.0, gateways=(1, 4), kinds=("forms", "scene"), replay=((4, 2),), mixed_s=15.0)


@dataclass(frozen=True, slots=True)
class Bench:
    """What a plan works with.

    Attributes:
        stand: the machine.
        notebook: where results go.
        pace: how much is done.
    """

    stand: Stand
    notebook: Notebook
    pace: Pace = field(default_factory=Pace)

    @property
    def usual_gateways(self) -> int:
        """How many gateways there are when that is not what is varied."""
        return self.pace.gateways[-1]

    @contextmanager
    def service(self, repository: str, *, explicit: bool = False) -> Iterator[Service]:
        """A server with this repository; how long it took to warm up becomes a result."""
        with GpuSampler() as gpu, Clients(CLIENTS) as clients:
            started = time.monotonic()
            with self.stand.triton(repository, explicit=explicit) as server:
                warm_s = round(time.monotonic() - started, 1)
                self.notebook.measure(f"{repository} start", 0.0, lambda: start_figures(warm_s, gpu))
                yield Service(self.stand, server, clients, gpu)

    def module(self, name: str, module: str, *arguments: object, needs_s: float) -> None:
        """Run one of the modules that use ONNX Runtime directly, in a process of its own."""
        self.notebook.measure(name, needs_s, lambda: run_module(module, [str(one) for one in arguments]))


def run_module(module: str, arguments: list[str]) -> object:
    """What the module wrote to the file that it is given as its last argument."""
    libraries = [str(folder) for folder in cuda_libraries()] + os.environ.get("LD_LIBRARY_PATH", "").split(":")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, "-m", f"loadtest.gpu.{module}", *arguments, str(out)]
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
        done = subprocess.run(
            command, env=environment, timeout=MODULE_TIMEOUT_S, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{module} failed: {done.stderr[-1500:]}")
        figures: object = json.loads(out.read_text())
        return figures


def start_figures(warm_s: float, gpu: GpuSampler) -> dict[str, Any]:
    """How long the models took to be warm, and their memory."""
    time.sleep(0.5)
    return {
        "warm_s": warm_s,
        "gpu_mib": gpu.samples[-1].mebibytes if gpu.samples else None,
        "process_mib": process_memory(),
    }


def process_memory() -> list[int]:
    """Memory on the GPU of each process, MiB, ascending; empty where the driver does not tell."""
    command = ["nvidia-smi", "--query-compute-apps=used_memory", "--format=csv,noheader,nounits"]
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(int(line) for line in lines if line.isdigit())


def output_of(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def circumstances(snapshot: str) -> dict[str, Any]:
    """Versions and machine."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "-"
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": snapshot,
        "gpu": output_of(query) if cuda_libraries() else "none",
        "machine": f"{os.cpu_count()} cores, {processor_name()}",
        "python": platform.python_version(),
        "versions": versions,
    }
