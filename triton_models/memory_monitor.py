"""Says how much memory a model of Triton's Python backend holds, and by how much it grows with every thousand requests.

For any Python backend: copy this one file beside `model.py` (it needs the standard library only) and put two lines in:

    from memory_monitor import MemoryMonitor
    ...
    def initialize(self, args):
        self._memory = MemoryMonitor(args, pb_utils)

    def execute(self, requests):
        with self._memory.watching(len(requests)):
            ...

The process's own memory is read before and after each `execute`, which takes microseconds. Once a second the GPU's is
read, too, and everything is shown on Triton's own /metrics. Nothing is collected, emptied or freed for it: that would
take longer than most models, and hide what is looked for.

Growth is the median of the slopes between all pairs of readings (Theil 1950, Sen 1968): up to three readings in ten may
be anything, a single step or a peak does not move it, and a leak does not hide behind noise.

In a container NVML lists processes under the ids that they have on the host, so a process does not find itself there.
What is asked for is the whole device, which everybody on it shares; what is this process's own is what torch's
allocator says. docs/python-backend.md has the metrics.
"""

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from statistics import median
from typing import Any

WARM_UP_REQUESTS = 100
"""Left out of the slope: caches fill, arenas are made, code is loaded."""
SAMPLES = 64
"""Kept at most, so that there are 2,016 pairs: half a millisecond's work, once a second."""
WINDOW_REQUESTS = 16_384
"""That the samples span at the most, so that a leak that begins after a month is noticed like one at the start."""
LEAST_REQUESTS = 200
"""That they must span: a page more after ten requests would look like 400 kB after a thousand."""
LEAST_SAMPLES = 16
"""That there must be."""
INTERVAL_S = 1.0
"""Between two updates of the metrics: each value is a message to the server."""

PREFIX = "python_backend"
LABELS = (("model", "model_name"), ("version", "model_version"), ("model_instance", "model_instance_name"))
"""Labels and where `args` has them; `instance` alone is what Prometheus calls the server."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
HELP = {
    "private": "Resident memory of the instance's process that it shares with nobody",
    "shared": "Resident memory of the instance's process that others map, too: libraries and Triton's shared memory",
    "torch_allocated": "Memory of the GPU in tensors of this process (torch)",
    "torch_reserved": "Memory of the GPU that this process holds for tensors (torch)",
    "device_used": "Memory of the whole GPU in use, by whichever process (NVML)",
}
GROWTH_NAME = f"{PREFIX}_memory_growth_bytes_per_1000_requests"
GROWTH_HELP = "By how much each kind of memory grows with 1,000 requests"

Sizes = dict[str, int]


class Growth:
    """The growth of one kind of memory, from readings that come one after the other.

    Readings are kept in blocks of requests, each with the least of its readings, since the least is what could not be
    given back. There are at most SAMPLES blocks: when they are full, two and two become one, until they span
    WINDOW_REQUESTS; from there on the oldest goes.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int]] = []
        self._width = 1

    def add(self, request: int, size: int) -> None:
        """Take a reading, in bytes, after so many requests."""
        if request <= WARM_UP_REQUESTS:
            return
        if self._blocks and request - self._blocks[-1][0] < self._width:
            self._blocks[-1] = self._blocks[-1][0], min(size, self._blocks[-1][1])
            return
        if len(self._blocks) == SAMPLES:
            self._make_room()
        self._blocks.append((request, size))

    def bytes_per_1000_requests(self) -> float | None:
        """The slope; None while there is too little to tell."""
        blocks = self._blocks
        if len(blocks) < LEAST_SAMPLES or blocks[-1][0] - blocks[0][0] < LEAST_REQUESTS:
            return None
        return 1000 * median(
            (after - before) / (end - start) for (start, before), (end, after) in combinations(blocks, 2)
        )

    def _make_room(self) -> None:
        if self._width * SAMPLES >= WINDOW_REQUESTS:
            del self._blocks[0]
            return
        self._width *= 2
        pairs = zip(self._blocks[::2], self._blocks[1::2], strict=True)
        self._blocks = [(start, min(size, other)) for (start, size), (_, other) in pairs]


class ProcessMemory:
    """The memory of this process, as Linux counts it; the counters may be some pages per core behind, always."""

    def __init__(self) -> None:
        # Kept open, which makes a reading twice as fast; an instance lives as long as its process.
        self._file = os.open("/proc/self/statm", os.O_RDONLY)

    def read(self) -> Sizes:
        """Bytes by kind."""
        _, resident, shared, *_ = os.pread(self._file, 128, 0).split()
        return {"private": (int(resident) - int(shared)) * PAGE_BYTES, "shared": int(shared) * PAGE_BYTES}


def torch_memory(device: int) -> Sizes:
    """What torch's allocator holds on a device, if the model has loaded torch and torch has begun to use a GPU."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return {}
    return {
        "torch_allocated": torch.cuda.memory_allocated(device),
        "torch_reserved": torch.cuda.memory_reserved(device),
    }


class _NvmlMemory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class NvmlDevice:
    """One GPU, as its driver's own library sees it.

    Raises:
        OSError: there is no such library or device, or it does not want to say.
    """

    def __init__(self, device: int, visible: str | None, library: str = "libnvidia-ml.so.1") -> None:
        self._nvml = ctypes.CDLL(library)
        self._handle = ctypes.c_void_p()
        self._call("nvmlInit_v2")
        name = nvml_name(device, visible)
        if isinstance(name, int):
            self._call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(name), ctypes.byref(self._handle))
        else:
            self._call("nvmlDeviceGetHandleByUUID", ctypes.c_char_p(name.encode()), ctypes.byref(self._handle))

    def read(self) -> Sizes:
        """Bytes in use on the whole device."""
        memory = _NvmlMemory()
        self._call("nvmlDeviceGetMemoryInfo", self._handle, ctypes.byref(memory))
        return {"device_used": memory.used}

    def _call(self, function: str, *arguments: object) -> None:
        code = getattr(self._nvml, function)(*arguments)
        if code != 0:
            raise OSError(f"{function} answers {code}")


def nvml_name(device: int, visible: str | None) -> int | str:
    """What NVML calls the device with this number in CUDA: its index among all, or its UUID (CUDA_VISIBLE_DEVICES)."""
    names = [name.strip() for name in (visible or "").split(",") if name.strip()]
    if device >= len(names):
        return device
    return int(names[device]) if names[device].isdigit() else names[device]


class Gauges:
    """Gauges on Triton's /metrics, each made when it is set for the first time.

    Args:
        pb_utils: Triton's module.
        labels: of all of them.
    """

    def __init__(self, pb_utils: Any, labels: Mapping[str, str]) -> None:  # noqa: ANN401 - it has no types
        self._pb_utils = pb_utils
        self._labels = labels
        self._families: dict[str, Any] = {}
        self._gauges: dict[tuple[str, str], Any] = {}

    def set(self, name: str, explanation: str, label: tuple[str, str], value: float) -> None:
        """Set the gauge of this name and further label."""
        key = (name, label[1])
        if key not in self._gauges:
            self._gauges[key] = self._family(name, explanation).Metric(labels={**self._labels, label[0]: label[1]})
        self._gauges[key].set(value)

    def _family(self, name: str, explanation: str) -> Any:  # noqa: ANN401 - it has no types
        if name not in self._families:
            kind = self._pb_utils.MetricFamily.GAUGE
            self._families[name] = self._pb_utils.MetricFamily(name=name, description=explanation, kind=kind)
        return self._families[name]


class MemoryMonitor:
    """Watches one instance of a model.

    Args:
        args: what Triton gives to `initialize`.
        pb_utils: Triton's module, `triton_python_backend_utils`.
        clock: seconds.
    """

    def __init__(
        self,
        args: Mapping[str, str],
        pb_utils: Any,  # noqa: ANN401 - it has no types
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pb_utils = pb_utils
        self._gauges: Gauges | None = Gauges(pb_utils, {label: args[name] for label, name in LABELS})
        self._process = ProcessMemory()
        self._device_readers = device_readers(args, pb_utils)
        self._growth: dict[str, Growth] = {}
        self._requests = 0
        self._clock = clock
        self._due_at = clock()

    @contextmanager
    def watching(self, requests: int) -> Iterator[None]:
        """Watch one `execute` of so many requests; what it raises passes."""
        due = self._clock() >= self._due_at
        before = self._read(due=due)
        try:
            yield
        finally:
            self._requests += requests
            after = self._read(due=due)
            for kind, size in after.items():
                self._growth.setdefault(kind, Growth()).add(self._requests, size)
            if due:
                self._due_at = self._clock() + INTERVAL_S
                self._publish(before, after)

    def growth(self) -> dict[str, float]:
        """Bytes per 1,000 requests, by kind of memory, of which there is enough to tell."""
        slopes = {kind: growth.bytes_per_1000_requests() for kind, growth in self._growth.items()}
        return {kind: slope for kind, slope in slopes.items() if slope is not None}

    def _read(self, *, due: bool) -> Sizes:
        sizes = self._process.read()
        for read in self._device_readers if due else ():
            sizes |= read()
        return sizes

    def _publish(self, before: Sizes, after: Sizes) -> None:
        if self._gauges is None:
            return
        try:
            for moment, sizes in (("before", before), ("after", after)):
                for kind, size in sizes.items():
                    self._gauges.set(f"{PREFIX}_{kind}_bytes", HELP[kind], ("moment", moment), size)
            for kind, slope in self.growth().items():
                self._gauges.set(GROWTH_NAME, GROWTH_HELP, ("memory", kind), slope)
        except self._pb_utils.TritonModelException as error:  # a server that was built without metrics
            self._gauges = None
            self._pb_utils.Logger.log_warn(f"memory is watched, but not shown on /metrics: {error}")


def device_readers(args: Mapping[str, str], pb_utils: Any) -> Sequence[Callable[[], Sizes]]:  # noqa: ANN401
    """What can be read of the instance's GPU, if it has one."""
    if args["model_instance_kind"] != "GPU":
        return ()
    device = int(args["model_instance_device_id"])
    readers: list[Callable[[], Sizes]] = [lambda: torch_memory(device)]
    try:
        readers.append(NvmlDevice(device, os.environ.get("CUDA_VISIBLE_DEVICES")).read)
    except OSError as error:
        pb_utils.Logger.log_warn(f"the memory of GPU {device} is not watched: {error}")
    return readers
