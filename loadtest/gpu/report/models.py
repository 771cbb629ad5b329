"""The models by themselves: shapes, variants, options, what is inside, instances. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import Measured

VARIANTS = ("top1", "CUDA graph", "float16", "without TF32", "original", "tiny")
"""Columns; the labels of `loadtest.gpu.sessions`."""
LINE_HEIGHT = 48
TOP1 = "top1"

Case = Mapping[str, Any]


def recognition(measured: Measured) -> str:
    """Every shape of the recogniser."""
    rows = []
    for case in _cases(measured, TOP1):
        lines, height, width, _ = case["shape"]
        if height == LINE_HEIGHT:
            per_s = 1000 * lines / case["ms"]
            rows.append([str(width), str(lines), f"{case['ms']:.1f}", f"{per_s:,.0f}", f"{per_s * width / 320:,.0f}"])
    return table(["bucket", "rows", "ms", "rows/s", "in widths of 320"], rows)


def detection(measured: Measured) -> str:
    """Every shape of the detector."""
    rows = []
    for case in _cases(measured, TOP1):
        count, height, width, _ = case["shape"]
        if count == 1 and height != LINE_HEIGHT:
            megapixels = height * width / 1e6
            rows.append([f"{height} x {width}", f"{megapixels:.2f}", f"{case['ms']:.1f}", f"{1000 / case['ms']:.0f}"])
    return table(["height x width", "megapixels", "ms", "pages/s"], sorted(rows, key=lambda row: float(row[1])))


def variants(measured: Measured) -> str:
    """The same shape in every variant, from array to array, in milliseconds."""
    by_shape: dict[str, dict[str, float]] = {}
    for case in measured["sessions"]["cases"]:
        if "ms" in case:
            by_shape.setdefault(_shape_name(case), {})[case["label"]] = case["ms"]
    rows = [
        [shape, *(f"{times[label]:.1f}" if label in times else "" for label in VARIANTS)]
        for shape, times in by_shape.items()
        if len(times) > 1
    ]
    return table(["ms a call", *VARIANTS], rows)


def _cases(measured: Measured, label: str) -> Iterator[Case]:
    return (case for case in measured["sessions"]["cases"] if case["label"] == label and "ms" in case)


def _shape_name(case: Case) -> str:
    """Lines or a page; the original graphs have their channels in another place."""
    first, *rest = case["shape"]
    height, width = (side for side in rest if side != 3)
    return f"{first} lines of {width}" if height == LINE_HEIGHT else f"page of {height} x {width}"


def switching(measured: Measured) -> str:
    """One session for several shapes."""
    rows = [
        [kind, "x".join(map(str, step["shape"][:3])), f"{step['first_ms']:.0f}", f"{step['again_ms']:.1f}"]
        for kind, steps in measured["sessions"]["switching"].items()
        for step in steps
    ]
    return table(["", "shape", "first run, ms", "again, ms"], rows)


def providers(measured: Measured) -> str:
    """Options and forms of graphs."""
    columns = ["32 lines", "form", "32 lines, half precision", "form, half precision"]
    return table(["GPU ms a call", *columns], [[label, *cells] for label, cells in _in_columns(measured).items()])


def _in_columns(measured: Measured) -> dict[str, list[str]]:
    """By label: lines, form, lines in half precision, form in half precision."""
    cells: dict[str, list[str]] = {}
    for repository in ("small", "float16"):
        for of_lines in (True, False):
            for case in measured[f"providers {repository}"]:
                if (case["shape"][1] == LINE_HEIGHT) == of_lines:
                    cell = f"{case['gpu_ms']:.2f}" if "gpu_ms" in case else "fails"
                    cells.setdefault(case["label"], []).append(cell)
    return cells


def kernels(measured: Measured) -> str:
    """The GPU's time inside a call, by what its kernels do."""
    columns = [(name, kind) for name in ("small", "float16") for kind in ("recognition", "detection")]
    families = {family for name, kind in columns for family in measured[f"kernels {name}"][kind]["families"]}
    rows = [[family, *(_family_cell(measured, *column, family) for column in columns)] for family in families]
    rows.sort(key=lambda row: -float(row[1].split()[0] or 0))
    total = ["**all**", *(f"{measured[f'kernels {name}'][kind]['us']:,.0f}" for name, kind in columns)]
    header = ["microseconds (launches)", "32 lines", "form", "32 lines, half precision", "form, half precision"]
    return table(header, [*rows, total])


def _family_cell(measured: Measured, name: str, kind: str, family: str) -> str:
    figures = measured[f"kernels {name}"][kind]["families"].get(family, {"us": 0.0, "launches": 0})
    return f"{figures['us']:.0f} ({figures['launches']})"


def instances(measured: Measured) -> str:
    """Threads, processes, and processes that share the GPU."""
    names: Sequence[tuple[str, str]] = (
        ("instances threads", "threads of one process"),
        ("instances processes", "processes"),
        ("instances processes, shared", "processes that share the GPU"),
    )
    mixes = list(measured[names[0][0]]["per_s"])
    rows = [
        [title, *(_mix_cell(measured[name]["per_s"][mix]) for mix in mixes), f"{measured[name]['mib'] / 1024:.1f}"]
        for name, title in names
    ]
    return table(["a second", *mixes, "GPU GiB"], rows)


def _mix_cell(per_s: Mapping[str, float]) -> str:
    return ", ".join(f"{rate:,.0f} {what}" for what, rate in per_s.items())


def one_process(measured: Measured) -> str:
    """The recorded calls in one process."""
    rows = []
    for name in ("small", "float16", "tiny"):
        for kind, figures in measured[f"one process {name}"].items():
            rates = [f"{point['images_per_s']:.0f}" for point in figures["points"]]
            rows.append([name, kind, *rates, f"{figures['gpu_mib'] / 1024:.1f}"])
    threads = [str(point["threads"]) for point in measured["one process small"]["forms"]["points"]]
    return table(["models", "pages", *(f"{count} threads" for count in threads), "GPU GiB"], rows)
