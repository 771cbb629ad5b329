"""Memory, failures, texts, and the library beside it. Pure."""

from collections.abc import Sequence

from loadtest.accuracy.report import table
from loadtest.gpu.plot import Axes, Line, plot
from loadtest.gpu.report.measured import BEST, KINDS, TARGET_MS, Measured, Point, lost

FAULTS = {
    "full card": "another process takes all but 128 MiB of the card for 3 s",
    "hang": "server and models are stopped for 3 s",
    "death of a model": "the process of one model is killed",
    "death of the server": "server and models are killed",
}
EQUALITIES = {
    "small": "small",
    "shared": "small, processes share the GPU",
    "shared-apart": "small, biases apart",
    "half": "small, recognisers in half precision",
    "shared-half": "small, all in half precision",
    "float16": "small, all in half precision, means in one step",
    "tiny": "tiny",
}
CURVES = {
    "memory buckets": "closed shapes, four pages at a time",
    "memory buckets, one page at a time": "closed shapes, one page at a time",
    "memory widest": "padded to the widest line, one page at a time",
}
PEERS = ("rapidocr default", "rapidocr tuned", "rapidocr tuned, 8 processes", "rapidocr tuned, 16 processes")
MOST_EXAMPLES = 6
LATENCY_LIMIT_MS = 600.0


def latency_plot(measured: Measured) -> str:
    """P95 over the rate for every kind of page."""
    lines = [
        Line(kind, [(point["images_per_s"], point["p95_ms"]) for point in _answered(measured, kind)]) for kind in KINDS
    ]
    axes = Axes("pages a second, PP-OCRv6 small, as advised", "P95 in ms", LATENCY_LIMIT_MS, TARGET_MS)
    return plot(lines, axes)


def _answered(measured: Measured, kind: str) -> list[Point]:
    points = [point for point in measured.rates(BEST, kind) if not lost(point)]
    return sorted(points, key=lambda point: point["images_per_s"])


def growth_plot(measured: Measured) -> str:
    """Both layouts, one page at a time."""
    widest = _curve(measured, "memory widest")
    flat = [point for point in _curve(measured, "memory buckets, one page at a time") if point[0] <= widest[-1][0]]
    lines = [Line("closed shapes", flat), Line("padded to the widest line", widest)]
    return plot(lines, Axes("pages, one at a time", "GPU memory of the recogniser in GiB"))


def flat_plot(measured: Measured) -> str:
    """Closed shapes over ten thousand pages."""
    lines = [Line("closed shapes, four pages at a time", _curve(measured, "memory buckets"))]
    return plot(lines, Axes("pages", "GPU memory of the recogniser in GiB", y_limit=12.0))


def _curve(measured: Measured, name: str) -> list[tuple[float, float]]:
    return [(count, mebibytes / 1024) for count, mebibytes in measured[name]["pages_and_mib"]]


def memory_figures(measured: Measured) -> str:
    """First and last memory of each curve, and since when it is flat."""
    rows = []
    for name, title in CURVES.items():
        curve = measured[name]["pages_and_mib"]
        pages, last = curve[-1]
        rows.append([title, f"{pages:,}", f"{curve[0][1]:,.0f}", f"{last:,.0f}", f"{last_growth(curve):,}"])
    return table(["", "pages", "MiB after the first", "MiB at the end", "last growth at page"], rows)


def last_growth(curve: Sequence[tuple[int, float]]) -> int:
    """The page since which a curve has had its last value."""
    last = curve[-1][1]
    return max((count for count, mebibytes in curve if mebibytes != last), default=0) + 1


def warm_start(measured: Measured) -> str:
    """Memory and time of a server with all its models."""
    rows = []
    for name, title in measured.measured_with("start"):
        data = measured[f"{name} start"]
        processes = [mebibytes for mebibytes in data["process_mib"] if mebibytes]
        rows.append(
            [
                title,
                str(len(processes)),
                f"{data['warm_s']:.0f} s",
                f"{data['gpu_mib'] / 1024:.1f}",
                f"{min(processes):,} to {max(processes):,}",
            ]
        )
    return table(["", "processes", "warm after", "GPU GiB", "MiB a process"], rows)


def out_of_memory(measured: Measured) -> str:
    """The exact text, and what the service makes of it."""
    answers, service = measured["out of memory: texts"], measured["out of memory: service"]
    times = ", ".join(f"{answer['ms']:.0f}" for answer in answers)
    load, equality = service["load"], service["equality"]
    pages, loaded = load["statuses"].get("200", 0), sum(load["statuses"].values())
    return (
        f"Triton answers `{answers[0]['code']}` after {times} ms:\n\n"
        f"    {answers[0]['text'].strip()}\n\n"
        f"The recognisers of 16 rows and more of this server have an arena of 64 MiB and fail at every call. All "
        f"{equality['pages']} pages are read nevertheless, {equality['lines_equal']:,} of {equality['lines']:,} "
        f"lines as on a CPU, and under load {pages} of {loaded} requests get their page, {load['images_per_s']:.0f} "
        f"forms a second with two gateways: chunks are halved, the limit is learnt, and "
        f"{load['lines']['rows_per_call']:.1f} rows travel together."
    )


def faults(measured: Measured) -> str:
    """What clients met."""
    rows = []
    for name, what in FAULTS.items():
        data = measured[name]
        others = ", ".join(f"{count} x {status}" for status, count in data["statuses"].items() if status != "200")
        back = "" if data["back_after_s"] is None else f"{data['back_after_s']:.0f} s"
        rows.append([what, str(data["statuses"].get("200", 0)), others or "0", back, f"{data['slowest_s']:.1f} s"])
    return table(["at 40 forms a second", "pages", "others", "all well again after", "slowest answer"], rows)


def restarts(measured: Measured) -> str:
    """What the supervisor said after each death."""
    said = []
    for name in ("death of a model", "death of the server"):
        said.append(f"    {name}")
        said += [
            f"    {seconds:6.1f} s  {text}" for seconds, text in measured[name]["restarts"] if "loading" not in text
        ]
    return "\n".join(said)


def version_switch(measured: Measured) -> str:
    """Latency before, during and after."""
    data = measured["version switch"]
    rows = [
        [phase, str(data[phase]["pages"]), *(f"{data[phase][f'p{share}_ms']:.0f}" for share in (50, 95, 99))]
        for phase in ("before", "meanwhile", "after")
    ]
    return table(["", "pages", "P50 ms", "P95 ms", "P99 ms"], rows)


def equality(measured: Measured) -> str:
    """Texts beside those of a CPU."""
    rows = []
    for name, title in EQUALITIES.items():
        data = measured.get(f"{name} equality")
        if data is not None:
            pages, lines = f"{data['pages_equal']} of {data['pages']}", f"{data['lines_equal']:,} of {data['lines']:,}"
            rows.append([title, pages, lines, f"{data['lines_equal'] / data['lines']:.2%}"])
    return table(["", "pages with equal text", "lines with equal text", ""], rows)


def differing(measured: Measured) -> str:
    """Some lines that differ."""
    rows = [
        [page["page"], " / ".join(_short(page["cpu"])), " / ".join(_short(page["gpu"]))]
        for page in measured["small equality"]["differing"][:MOST_EXAMPLES]
    ]
    return table(["page", "CPU only", "GPU only"], rows)


def _short(texts: Sequence[str], most: int = 48) -> list[str]:
    return [text if len(text) <= most else f"{text[:most]}…" for text in texts[:2]]


def peers(measured: Measured) -> str:
    """How fast rapidocr reads."""
    rows = []
    for name in PEERS:
        figures = measured[name]["figures"]
        median = {kind: _median(data["seconds"]) for kind, data in figures.items()}
        cells = [f"{figures[kind]['images_per_s']:.2f} ({median[kind]:.1f} s)" for kind in ("forms", "receipts")]
        rows.append([name, *cells])
    return table(["", "forms/s (median time)", "receipts/s (median time)"], rows)


def _median(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) // 2]
