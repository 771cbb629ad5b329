"""Memory of the whole service over its pages. Pure."""

from collections.abc import Sequence
from itertools import takewhile

from loadtest.accuracy.report import table
from loadtest.gpu.plot import Axes, Line, plot
from loadtest.gpu.report.measured import Measured
from loadtest.gpu.whole_memory import MemorySample

NAME = "memory of the whole service"
COLUMNS = {"gpu_mib": "the GPU", "triton_mib": "Triton and its models", "gateways_mib": "the gateways"}
MARKS = (0, 100, 1_000, 2_500, 5_000, 7_500)
WARM_PAGES = 1_000


def samples(measured: Measured) -> list[MemorySample]:
    """In the order in which they were taken."""
    return [MemorySample(*values) for values in measured[NAME]["samples"]]


def memory_plot(measured: Measured) -> str:
    """All three over the pages."""
    seen = samples(measured)
    lines = [
        Line(title, [(sample.pages, (getattr(sample, column) or 0.0) / 1024) for sample in seen])
        for column, title in COLUMNS.items()
    ]
    return plot(lines, Axes("pages through the whole service", "memory in GiB"))


def memory_figures(measured: Measured) -> str:
    """All three at a few numbers of pages, and at the end."""
    seen = samples(measured)
    chosen = [next((sample for sample in seen if sample.pages >= mark), seen[-1]) for mark in MARKS]
    rows = [
        [f"{sample.pages:,}", *(f"{getattr(sample, column) or 0.0:,.0f}" for column in COLUMNS)]
        for sample in [*chosen, seen[-1]]
    ]
    return table(["pages", *(f"{title}, MiB" for title in COLUMNS.values())], rows)


def since_warm(seen: Sequence[MemorySample], column: str) -> float:
    """MiB that something grew by between the first thousand pages and the end."""
    warm = next((sample for sample in seen if sample.pages >= WARM_PAGES), seen[-1])
    return float((getattr(seen[-1], column) or 0.0) - (getattr(warm, column) or 0.0))


def flat_since(seen: Sequence[MemorySample]) -> int:
    """The page from which on the GPU's memory was what it was at the end."""
    last = seen[-1].gpu_mib
    same = list(takewhile(lambda sample: sample.gpu_mib == last, reversed(seen)))
    return same[-1].pages


def told(measured: Measured) -> str:
    """How it was done, and what grew after the beginning."""
    data, seen = measured[NAME], samples(measured)
    statuses = data["statuses"]
    pages, others = statuses.get("200", 0), sum(statuses.values()) - statuses.get("200", 0)
    first = next(sample for sample in seen if sample.pages >= WARM_PAGES).pages
    grown = ", ".join(f"{title} {since_warm(seen, column):+,.0f} MiB" for column, title in COLUMNS.items())
    return (
        f"{pages:,} pages of {data['files']} files in {data['seconds']:.0f} s with {data['gateways']} gateways, "
        f"refused {others} times. From page {first:,} to the end: {grown}."
    )
