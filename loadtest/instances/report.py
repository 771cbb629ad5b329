"""The figures as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadtest.accuracy.report import table
from loadtest.instances.measure import CLIENTS, LARGE_BYTES, Cost, SharedMemory
from loadtest.instances.models import BUSY_MS, ROWS
from triton_models.memory_monitor import INTERVAL_S

MIB = 1 << 20
TITLES = {
    "busy": f"A model of ten lines that computes in Python for {BUSY_MS} ms, each instance a process",
    "text_recognition": f"The service's recogniser in this project's backend, {len(ROWS)} lines a call, likewise",
    "threads": "The same as sessions of one process, a thread each, which is how a backend in C++ has instances",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures of a run.

    Attributes:
        machine: cores and processor.
        others: processes that wanted a core in the mean meanwhile, these measurements' own among them.
        costs: of every model and number of instances.
        shared_memory: one course.
        monitor: microseconds of an execute and of an update.
    """

    machine: str
    others: float
    costs: Sequence[Cost]
    shared_memory: SharedMemory
    monitor: Mapping[str, float]


def report(measured: Measured) -> str:
    """The generated part of the document."""
    parts = [part(title, [cost for cost in measured.costs if cost.name == name]) for name, title in TITLES.items()]
    last = [shared_memory_line(measured.shared_memory), monitor_line(measured.monitor)]
    return "\n\n".join([circumstances_line(measured), *parts, *last])


def circumstances_line(measured: Measured) -> str:
    """Where, and how busy it was there."""
    return (
        f"On {measured.machine}, where {measured.others:.1f} processes wanted a core in the mean, those that were "
        f"measured included; {CLIENTS} requests under way. PSS counts what several processes map once."
    )


def part(title: str, costs: Sequence[Cost]) -> str:
    """The table of one model."""
    head = [
        "instances",
        "ready after",
        "resident MiB",
        "PSS MiB",
        "each further, PSS MiB",
        "/dev/shm MiB",
        "requests/s",
        "core ms a request",
    ]
    return f"{title}:\n\n" + table(head, [row(cost, costs[0]) for cost in costs])


def row(cost: Cost, first: Cost) -> list[str]:
    """One number of instances."""
    further = cost.instances - first.instances
    return [
        str(cost.instances),
        f"{cost.start_s:.1f} s",
        f"{cost.resident / MIB:.0f}",
        f"{cost.proportional / MIB:.0f}",
        f"{(cost.proportional - first.proportional) / further / MIB:.0f}" if further else "",
        f"{cost.shared_memory / MIB:.1f}",
        f"{cost.per_s:.3g} ({cost.per_s / first.per_s:.2f})",
        f"{cost.core_s * 1000:.3g}",
    ]


def shared_memory_line(shared: SharedMemory) -> str:
    """How shared memory grew, and did not shrink."""
    sizes = (shared.at_start, shared.after_small, shared.after_large, shared.afterwards)
    start, small, large, afterwards = (f"{size / MIB:.1f}" for size in sizes)
    return (
        f"**Shared memory never shrinks.** {shared.instances} instances of the first model: {start} MiB in /dev/shm "
        f"at the start, {small} after small requests, {large} after requests of {LARGE_BYTES / MIB:.0f} MiB, which it "
        f"gives back, and {afterwards} after small ones again."
    )


def monitor_line(monitor: Mapping[str, float]) -> str:
    """What the memory monitor takes."""
    execute_us, update_us = monitor["execute_us"], monitor["update_us"]
    return (
        f"**The monitor** takes {execute_us:.0f} µs of an `execute` ({execute_us / (BUSY_MS * 1000):.2%} of "
        f"{BUSY_MS} ms), and once a second {update_us / 1000:.1f} ms for the slopes and the messages to Triton "
        f"({update_us / 1e6 / INTERVAL_S:.2%} of the time)."
    )
