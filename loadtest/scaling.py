"""How many GPUs and gateways a fleet needs, from what was measured on one: `make scaling` writes docs/scaling.md."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.report import table
from loadtest.document import Markers, update_document
from loadtest.gpu.report.measured import BEST, KINDS, SHARED, Measured
from loadtest.gpu.report.throughput import meets
from loadtest.gpu.results import read_results

DOCUMENT = ROOT / "docs" / "scaling.md"
RESULTS = ROOT / "docs" / "gpu" / "results.jsonl"
MARKERS = Markers.of("scaling")

PAGES_A_MINUTE = (10, 1_000, 100_000)
LOAD = 0.7
"""Of a peak, that is planned with: queues grow without end as it nears 1."""
CORES_A_GATEWAY = 1.5
"""That one process uses when it is busy (docs/gpu.md), and that deploy/kubernetes asks for."""
LEAST_GATEWAYS = 2


@dataclass(frozen=True, slots=True)
class Measures:
    """What one GPU and its gateways did with one kind of page.

    Attributes:
        kind: of page.
        peak_per_s: pages a second at the most.
        prompt_per_s: the highest rate tried with P95 below the target and nothing lost; None if none had it.
        gateway_core_s: of gateways' processors, for a page, at the peak.
        model_core_s: of Triton's and its models', likewise.
    """

    kind: str
    peak_per_s: float
    prompt_per_s: float | None
    gateway_core_s: float
    model_core_s: float


@dataclass(frozen=True, slots=True)
class Fleet:
    """What to have.

    Attributes:
        gpus: that the load needs; one Triton each.
        prompt_gpus: the same where 95 % of the pages are to come within 200 ms; None where that can't be had.
        gateways: processes of gateways.
        cores: of processors, gateways and Tritons together.
    """

    gpus: int
    prompt_gpus: int | None
    gateways: int
    cores: int


def size(measures: Measures, pages_per_min: float) -> Fleet:
    """The fleet for a rate, without what is to spare for a failure."""
    per_s = pages_per_min / 60
    prompt = measures.prompt_per_s
    gateway_cores = per_s * measures.gateway_core_s / LOAD
    return Fleet(
        gpus=math.ceil(per_s / (LOAD * measures.peak_per_s)),
        prompt_gpus=None if prompt is None else math.ceil(per_s / prompt),
        gateways=max(LEAST_GATEWAYS, math.ceil(gateway_cores / CORES_A_GATEWAY)),
        cores=math.ceil(gateway_cores + per_s * measures.model_core_s / LOAD),
    )


def read_measures(measured: Measured) -> list[Measures]:
    """By kind of page; rates within 200 ms are of the configuration of which all rates were tried."""
    found = []
    for kind in KINDS:
        peak = measured.peak(BEST, kind)
        assert peak is not None
        prompt = [point["images_per_s"] for point in measured.rates(SHARED, kind) if meets(point)]
        cores, per_s = peak["usage"]["cores"], peak["images_per_s"]
        models = (cores["models"] + cores["triton"]) / per_s
        found.append(Measures(kind, per_s, max(prompt, default=None), cores["gateways"] / per_s, models))
    return found


def describe(measures: Sequence[Measures]) -> str:
    """Both tables of the document."""
    header = ["on one H200", "pages/s at the peak", "with P95 < 200 ms", "gateway core-seconds a page", "Triton's"]
    rows = [[one.kind, *_cells(one)] for one in measures]
    fleets = []
    for rate in PAGES_A_MINUTE:
        for one in measures:
            fleet = size(one, rate)
            prompt = _or_none(fleet.prompt_gpus)
            fleets.append([f"{rate:,}", one.kind, f"{fleet.gpus}", prompt, f"{fleet.gateways}", f"{fleet.cores}"])
    columns = ["pages a minute", "of", "GPUs", "GPUs, P95 < 200 ms", "gateways", "cores in all"]
    return f"{table(header, rows)}\n\n{table(columns, fleets)}"


def _cells(one: Measures) -> list[str]:
    return [
        f"{one.peak_per_s:.0f}",
        _or_none(one.prompt_per_s),
        f"{one.gateway_core_s:.3f}",
        f"{one.model_core_s:.3f}",
    ]


def _or_none(number: float | None) -> str:
    return "none" if number is None else f"{number:.0f}"


def generated() -> str:
    """What docs/scaling.md has between its markers."""
    return describe(read_measures(Measured(read_results([RESULTS]))))


if __name__ == "__main__":
    update_document(DOCUMENT, generated(), MARKERS)
