"""How busy the GPU and the processors are while something is measured."""

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from triton_models.processes import group_members

INTERVAL_MS = 100
COMMAND = (
    "nvidia-smi",
    "--query-gpu=utilization.gpu,memory.used,power.draw",
    "--format=csv,noheader,nounits",
    f"--loop-ms={INTERVAL_MS}",
)


@dataclass(frozen=True, slots=True)
class GpuSample:
    """The GPU at one moment.

    Attributes:
        at: on the monotonic clock.
        percent: of the time since the last sample in which something ran on it; that says nothing of how much ran.
        mebibytes: memory in use.
        watts: drawn.
    """

    at: float
    percent: float
    mebibytes: float
    watts: float


class GpuSampler:
    """Watches the GPU from beginning to end; use it as a context manager. Without a GPU there are no samples."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self.samples: list[GpuSample] = []
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError:
            return self
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._thread.join()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                percent, mebibytes, watts = (float(field) for field in line.split(","))
            except ValueError:
                continue
            self.samples.append(GpuSample(time.monotonic(), percent, mebibytes, watts))

    def since(self, start: float) -> list[GpuSample]:
        """The samples since this moment on the monotonic clock."""
        return [sample for sample in tuple(self.samples) if sample.at >= start]


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used during a measurement.

    Attributes:
        gpu_percent: mean share of the time in which something ran on the GPU.
        gpu_mib: most memory in use on the GPU.
        gpu_watts: mean power.
        cores: processors in use, by group of processes.
    """

    gpu_percent: float | None
    gpu_mib: float | None
    gpu_watts: float | None
    cores: dict[str, float]


class Meter:
    """Measures usage from its making to `stop`.

    Args:
        gpu: the sampler that runs.
        groups: ids of processes by the name of their group; see `process_groups`.
    """

    def __init__(self, gpu: GpuSampler, groups: Mapping[str, Sequence[int]]) -> None:
        self._gpu = gpu
        self._groups = groups
        self._began_at = time.monotonic()
        self._before = self._cpu_seconds()

    def stop(self) -> Usage:
        """The usage since the beginning."""
        elapsed = time.monotonic() - self._began_at
        after, samples = self._cpu_seconds(), self._gpu.since(self._began_at)
        return Usage(
            gpu_percent=_mean([sample.percent for sample in samples]),
            gpu_mib=max((sample.mebibytes for sample in samples), default=None),
            gpu_watts=_mean([sample.watts for sample in samples]),
            cores={name: round((after[name] - self._before[name]) / elapsed, 2) for name in self._groups},
        )

    def _cpu_seconds(self) -> dict[str, float]:
        return {name: sum(map(cpu_seconds, processes)) for name, processes in self._groups.items()}


def triton_groups(server: int) -> dict[str, list[int]]:
    """The server's process and those of its models."""
    return {"triton": [server], "models": [process for process in group_members(server) if process != server]}


def cpu_seconds(process: int, proc: Path = Path("/proc")) -> float:
    """Processor time that a process has used; 0 if it is gone."""
    try:
        fields = (proc / str(process) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(processes: Iterable[int], proc: Path = Path("/proc")) -> float:
    """Resident memory of these processes, MiB; what they share, such as libraries, counts for each of them."""
    pages = 0
    for process in processes:
        with suppress(FileNotFoundError, ProcessLookupError):
            pages += int((proc / str(process) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def loopback_bytes(devices: Path = Path("/proc/net/dev")) -> int:
    """Bytes that were sent over the loopback interface since the machine started: HTTP, and gRPC with Triton."""
    counters = next(line for line in devices.read_text().splitlines() if line.strip().startswith("lo:"))
    return int(counters.partition(":")[2].split()[0])


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 1) if values else None
