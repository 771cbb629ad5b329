"""The memory monitor of Python backends: slopes of made series, and what it shows through a fake of Triton's module."""

import mmap
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from triton_models import memory_monitor
from triton_models.memory_monitor import (
    INTERVAL_S,
    LEAST_REQUESTS,
    SAMPLES,
    WARM_UP_REQUESTS,
    WINDOW_REQUESTS,
    Growth,
    MemoryMonitor,
    NvmlDevice,
    ProcessMemory,
    nvml_name,
    torch_memory,
)

SOURCE = Path(memory_monitor.__file__).read_text(encoding="utf-8")
MB = 1_000_000
KB = 1_000
ARGS = {
    "model_name": "echo",
    "model_version": "3",
    "model_instance_name": "echo_0_1",
    "model_instance_kind": "CPU",
    "model_instance_device_id": "0",
}
GROWTH = "python_backend_memory_growth_bytes_per_1000_requests"


def slope(sizes):
    """Of a series with a reading after each request."""
    growth = Growth()
    for request, size in enumerate(sizes, start=1):
        growth.add(request, size)
    return growth.bytes_per_1000_requests()


def noise(seed, spread):
    drawn = random.Random(seed)
    return lambda: drawn.randint(0, spread)


def test_too_little_says_nothing():
    assert slope([]) is None
    assert slope([100 * MB] * (WARM_UP_REQUESTS + LEAST_REQUESTS)) is None
    assert slope([100 * MB] * (WARM_UP_REQUESTS + LEAST_REQUESTS + SAMPLES)) == 0


def test_few_readings_of_many_requests_say_nothing():
    growth = Growth()
    for request in range(1_000, 16_000, 1_000):
        growth.add(request, request)
    assert growth.bytes_per_1000_requests() is None
    growth.add(16_000, 16_000)
    assert growth.bytes_per_1000_requests() == 1_000


@pytest.mark.parametrize("requests", [500, 5_000, 50_000])
def test_a_leak_is_measured(requests):
    assert slope([100 * MB + 2 * KB * request for request in range(requests)]) == pytest.approx(2 * MB)


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_hide_a_leak(seed):
    more = noise(seed, 20 * MB)
    assert slope([100 * MB + 2 * KB * request + more() for request in range(20_000)]) == pytest.approx(2 * MB, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_no_leak(seed):
    more = noise(seed, 20 * MB)
    assert abs(slope([100 * MB + more() for _ in range(20_000)])) < 0.1 * MB


def test_a_collector_that_comes_seldom_is_no_leak():
    assert abs(slope([100 * MB + 10 * KB * (request % 700) for request in range(20_000)])) < 0.2 * MB


def test_a_warm_up_that_ends_is_no_leak():
    assert slope([min(request, 90) * MB for request in range(600)]) == 0


def test_a_warm_up_that_is_longer_is_forgotten():
    sizes = [min(request, 1_000) * MB for request in range(20_000)]
    assert slope(sizes) == 0


@pytest.mark.parametrize("at", [150, 300, 450, 550])
def test_one_step_is_no_leak(at):
    assert slope([100 * MB + (50 * MB if request > at else 0) for request in range(600)]) == 0


def test_one_peak_is_no_leak():
    assert slope([100 * MB + (500 * MB if 300 < request < 330 else 0) for request in range(600)]) == 0


def test_memory_that_is_given_back_is_negative():
    assert slope([900 * MB - 2 * KB * request for request in range(5_000)]) == pytest.approx(-2 * MB)


def test_a_leak_that_begins_after_a_month_is_noticed_within_the_window():
    quiet = 500_000
    growth = Growth()
    for request in range(0, quiet, 50):
        growth.add(request, 100 * MB)
    assert growth.bytes_per_1000_requests() == 0
    for request in range(quiet, quiet + WINDOW_REQUESTS, 50):
        growth.add(request, 100 * MB + 2 * KB * (request - quiet))
    assert growth.bytes_per_1000_requests() == pytest.approx(2 * MB, rel=0.2)


def test_no_more_is_kept_than_was_said():
    growth = Growth()
    for request in range(100_000):
        growth.add(request, request)
        assert len(growth._blocks) <= SAMPLES
    first, last = growth._blocks[0][0], growth._blocks[-1][0]
    assert WINDOW_REQUESTS / 2 < last - first <= WINDOW_REQUESTS


def test_what_is_kept_shows_in_private_memory():
    memory = ProcessMemory()
    before = memory.read()
    kept = bytearray(b"x" * 64 * MB)
    after = memory.read()
    assert after["private"] - before["private"] == pytest.approx(len(kept), rel=0.1)
    assert abs(after["shared"] - before["shared"]) < MB


class TritonModelException(Exception):
    pass


@dataclass
class Server:
    """Triton's module, for those who make metrics."""

    refuses: bool = False
    gauges: dict = field(default_factory=dict)
    updates: int = 0
    warnings: list = field(default_factory=list)
    TritonModelException = TritonModelException

    @property
    def Logger(self):  # noqa: N802 - Triton's names
        return SimpleNamespace(log_warn=self.warnings.append)

    @property
    def MetricFamily(self):  # noqa: N802
        server = self

        class Gauge:
            def __init__(self, key):
                self.key = key

            def set(self, value):
                server.updates += 1
                server.gauges[self.key] = value

        class MetricFamily:
            GAUGE = "gauge"

            def __init__(self, *, name, description, kind):
                if server.refuses:
                    raise TritonModelException("metrics are not allowed")
                assert (bool(description), kind) == (True, "gauge")
                self.name = name

            def Metric(self, *, labels):  # noqa: N802
                return Gauge((self.name, *sorted(labels.items())))

        return MetricFamily


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self):
        return self.now


def run(monitor, times, clock=None, step_s=0.0):
    for _ in range(times):
        with monitor.watching(1):
            pass
        if clock is not None:
            clock.now += step_s


def fresh_pages(size):
    """Memory that the process did not have before, whatever its allocator has kept."""
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.write(b"x" * size)
    return pages


def key(name, **more):
    return (name, *sorted({"model": "echo", "version": "3", "model_instance": "echo_0_1", **more}.items()))


def test_memory_before_and_after_is_shown_for_each_instance():
    server = Server()
    kept = []
    with MemoryMonitor(ARGS, server).watching(1):
        kept.append(bytearray(b"x" * 64 * MB))
    before, after = (
        server.gauges[key("python_backend_private_bytes", moment=moment)] for moment in ("before", "after")
    )
    assert after - before == pytest.approx(64 * MB, rel=0.1)
    assert key("python_backend_shared_bytes", moment="after") in server.gauges


def test_a_leak_is_shown_after_some_hundred_requests_and_counted_by_request():
    server, clock, kept = Server(), Clock(), []
    monitor = MemoryMonitor(ARGS, server, clock)
    for _ in range(200):
        with monitor.watching(4):
            kept.append(fresh_pages(100 * KB))
    assert not any(name == GROWTH for name, *_ in server.gauges)
    clock.now += INTERVAL_S
    run(monitor, 1)
    assert server.gauges[key(GROWTH, memory="private")] == pytest.approx(25 * MB, rel=0.2)
    assert monitor.growth()["private"] == server.gauges[key(GROWTH, memory="private")]


def test_the_server_is_told_once_a_second_however_many_requests_there_are():
    server, clock = Server(), Clock()
    monitor = MemoryMonitor(ARGS, server, clock)
    run(monitor, 100)
    assert server.updates == 4
    run(monitor, 100, clock, step_s=INTERVAL_S / 40)
    assert server.updates == 12


def test_what_a_model_raises_passes_and_is_watched():
    server = Server()
    with pytest.raises(ZeroDivisionError), MemoryMonitor(ARGS, server).watching(1):
        raise ZeroDivisionError
    assert key("python_backend_private_bytes", moment="after") in server.gauges


def test_a_server_without_metrics_keeps_its_model():
    server, clock = Server(refuses=True), Clock()
    monitor = MemoryMonitor(ARGS, server, clock)
    run(monitor, 500, clock, step_s=INTERVAL_S)
    assert server.warnings == ["memory is watched, but not shown on /metrics: metrics are not allowed"]
    assert monitor.growth().keys() == {"private", "shared"}


def torch_with(*, begun=True, allocated=7, reserved=9):
    cuda = SimpleNamespace(
        is_initialized=lambda: begun, memory_allocated=lambda _: allocated, memory_reserved=lambda _: reserved
    )
    return SimpleNamespace(cuda=cuda)


def test_torch_is_asked_where_the_model_uses_it_and_never_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert torch_memory(0) == {}
    assert "torch" not in sys.modules
    monkeypatch.setitem(sys.modules, "torch", torch_with(begun=False))
    assert torch_memory(0) == {}
    monkeypatch.setitem(sys.modules, "torch", torch_with())
    assert torch_memory(0) == {"torch_allocated": 7, "torch_reserved": 9}


def test_a_model_on_a_gpu_shows_what_torch_holds_and_goes_on_without_nvml(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_with())
    monkeypatch.setattr(memory_monitor.NvmlDevice, "__init__", no_library)
    server = Server()
    run(MemoryMonitor({**ARGS, "model_instance_kind": "GPU"}, server), 1)
    assert server.gauges[key("python_backend_torch_allocated_bytes", moment="after")] == 7
    assert server.gauges[key("python_backend_torch_reserved_bytes", moment="before")] == 9
    assert server.warnings == ["the memory of GPU 0 is not watched: no such library"]


def no_library(self, *_):
    raise OSError("no such library")


def test_a_machine_without_the_drivers_library_is_told():
    with pytest.raises(OSError, match=r"libnowhere\.so"):
        NvmlDevice(0, None, "libnowhere.so")


DRIVER = """
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory;
static int devices[4];
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
    if (index > 3) return 2;
    *device = &devices[index];
    return 0;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    if (strcmp(uuid, "GPU-8f")) return 6;
    *device = &devices[3];
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, memory *found) {
    found->total = 24000000000ULL;
    found->used = 8000000000ULL + ((int *) device - devices);
    found->free = found->total - found->used;
    return 0;
}
"""
"""What nvml.h declares of the driver's library, for four GPUs."""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler to make a library with")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "driver.so", folder / "driver.c"], check=True)
    return str(folder / "driver.so")


@pytest.mark.parametrize(("device", "visible", "expected"), [(1, None, 1), (0, "2,1", 2), (0, "GPU-8f", 3)])
def test_the_driver_is_asked_for_the_whole_device(driver, device, visible, expected):
    assert NvmlDevice(device, visible, driver).read() == {"device_used": 8_000_000_000 + expected}


def test_a_device_that_the_driver_does_not_know_is_told(driver):
    with pytest.raises(OSError, match="nvmlDeviceGetHandleByIndex_v2 answers 2"):
        NvmlDevice(4, None, driver)


@pytest.mark.parametrize(
    ("device", "visible", "expected"),
    [(0, None, 0), (1, "", 1), (0, "3,5", 3), (1, "3, 5", 5), (0, "GPU-8f", "GPU-8f"), (2, "0,1", 2)],
)
def test_nvml_and_cuda_number_devices_in_different_ways(device, visible, expected):
    assert nvml_name(device, visible) == expected


def test_the_file_needs_nothing_beside_it():
    imports = re.findall(r"(?m)^(?:import|from) (\w+)", SOURCE)
    assert "ctypes" in imports
    assert set(imports) <= sys.stdlib_module_names


def test_nothing_is_collected_or_emptied():
    assert [word for word in ("gc.", "empty_cache", "malloc_trim", "import torch") if word in SOURCE] == []
