"""The account of the gap to the best published figure, stage by stage, in forms a second. Pure."""

from dataclasses import dataclass
from typing import Any

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import BASE, BEST, SHARED, Measured, cores

GOAL_PER_S = 230.0
"""FUNSD forms on an RTX 5090 by a server in C++ with TensorRT: the best figure that was found published."""
KIND = "forms"
FUSED = ("biases, added by cuDNN", "arithmetic by element", "change of layout", "copies")
"""What a compiler that fuses lets the convolutions do, or leaves out."""


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What the GPU's kernels take for a form, one after another, microseconds.

    Attributes:
        in_all: as the graphs are now.
        unfused: of it, what a compiler would take away.
    """

    in_all: float
    unfused: float

    @property
    def per_s(self) -> float:
        """Forms a second of kernels one after another."""
        return 1e6 / self.in_all

    @property
    def fused_per_s(self) -> float:
        """The same without what a compiler would take away."""
        return 1e6 / (self.in_all - self.unfused)


def kernel_time(measured: Measured, precision: str) -> KernelTime:
    """One detection and the form's share of recognition calls; "small" or "float16"."""
    alone, kernels = measured[f"{BASE} models alone {KIND}"], measured[f"kernels {precision}"]
    calls = {"detection": 1.0, "recognition": alone["chunks"] / alone["pages"]}
    return KernelTime(
        sum(count * kernels[kind]["us"] for kind, count in calls.items()),
        sum(count * _unfused_us(kernels[kind]) for kind, count in calls.items()),
    )


def _unfused_us(kernels: dict[str, Any]) -> float:
    return float(sum(kernels["families"].get(family, {"us": 0.0})["us"] for family in FUSED))


def overlap(measured: Measured) -> float:
    """How much more kernels of several calls at once bring than one after another: one process, its best threads."""
    return best_of_one_process(measured) / kernel_time(measured, "small").per_s


def best_of_one_process(measured: Measured) -> float:
    """Forms a second of one process with threads."""
    return max(float(point["images_per_s"]) for point in measured["one process small"][KIND]["points"])


def account(measured: Measured) -> str:
    """Every step from the service to the kernels, and from there to the goal."""
    single, half = kernel_time(measured, "small"), kernel_time(measured, "float16")
    together = overlap(measured)
    steps: list[tuple[str, float | None, str]] = [
        ("the service, processes taking turns", _peak(measured, BASE), "how it stood before this was looked into"),
        ("the models alone, taking turns", measured.alone(BASE, KIND), "no HTTP, no JPEG, chunks as full as can be"),
        ("the models alone, sharing the GPU", measured.alone(SHARED, KIND), "kernels of several calls side by side"),
        ("the same, two instances of the detector", measured.alone("shared-two", KIND), "all forms have one size"),
        ("the same, biases apart", measured.alone(BEST, KIND), "a quicker kernel adds the recognisers' biases"),
        ("**the service, with all that**", _peak(measured, BEST), "as advised, measured last"),
        ("the same in an earlier call", _peak(measured, "shared-apart"), "the best that was measured"),
        ("one process, threads, no Triton", best_of_one_process(measured), "what sharing can bring; biases not apart"),
        ("kernels one after another", single.per_s, "added up from the profile below"),
        ("kernels without what is not fused", single.fused_per_s, "computed: convolutions, products, means, top 1"),
        ("the same side by side", single.fused_per_s * together, f"computed: times the {together:.2f} of threads"),
        ("the same in half precision", half.fused_per_s * together, "computed likewise"),
    ]
    rows = [[step, f"{rate:.0f}", f"{rate / GOAL_PER_S:.0%}", what] for step, rate, what in steps if rate is not None]
    return table(["step", "forms/s", f"of {GOAL_PER_S:.0f}", "what it is"], rows)


def _peak(measured: Measured, configuration: str) -> float | None:
    point = measured.peak(configuration, KIND)
    return float(point["images_per_s"]) if point else None


def processors(measured: Measured) -> tuple[float, float]:
    """Processors in use at the best peak, and what the goal would take at the same price."""
    point = measured.peak(BEST, KIND)
    if point is None:
        return 0.0, 0.0
    return cores(point), cores(point) / point["images_per_s"] * GOAL_PER_S
