"""The whole service: pages a second, latency, what saturates, and the account of what is missing. Pure."""

from collections.abc import Iterator

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import (
    BASE,
    BEST,
    BEST_TINY,
    CONFIGURATIONS,
    KINDS,
    SHARED,
    TARGET_MS,
    Measured,
    Point,
    calls_per_page,
    cores,
    lost,
)

MIXED = (*KINDS, "mixed")
WAITING = ("detect", "recognize", "reread")
"""Stages that wait for models."""
GOAL_SHARE = 0.9


def throughput(measured: Measured) -> str:
    """Peaks by configuration and kind of page, beside the models alone."""
    rows = []
    for name, title in CONFIGURATIONS.items():
        cells = [_peak_cell(measured, name, kind) for kind in KINDS]
        if any(cells):
            rows.append([title, *cells])
    return table(["pages a second", *KINDS], rows)


def _peak_cell(measured: Measured, configuration: str, kind: str) -> str:
    peak, alone, share = (get(configuration, kind) for get in (measured.peak, measured.alone, measured.share))
    if peak is None:
        return ""
    reached = f"{peak['images_per_s']:.0f}"  # type: ignore[index] # a point
    return f"{reached} of {alone:.0f} ({share:.2f})" if alone else reached


def reached_shares(measured: Measured, configuration: str) -> list[float]:
    """What the service reaches of the models alone, by kind of page."""
    return [share for kind in KINDS if (share := measured.share(configuration, kind)) is not None]


def between(measured: Measured, configuration: str = BEST) -> str:
    """What lies between the service and its models alone: calls, padding, processors, the GPU."""
    header = ["", "of the models alone", "calls a page", "alone", "padding", "GPU busy", "cores", "of them gateways"]
    rows = []
    for kind in KINDS:
        peak, alone = measured.peak(configuration, kind), measured[f"{configuration} models alone {kind}"]
        if peak is not None:
            rows.append(
                [
                    kind,
                    f"{measured.share(configuration, kind):.2f}",
                    f"{calls_per_page(peak):.1f}",
                    f"{alone['chunks'] / alone['pages']:.1f}",
                    f"{peak['lines']['padding']:.0%}",
                    f"{peak['usage']['gpu_percent']:.0f} %",
                    f"{cores(peak):.1f}",
                    f"{peak['usage']['cores']['gateways']:.1f}",
                ]
            )
    return table(header, rows)


def gateways(measured: Measured) -> str:
    """The peak over the number of gateway processes."""
    rows = [
        [
            str(point["gateways"]),
            f"{point['images_per_s']:.0f}",
            f"{point['usage']['gpu_percent']:.0f} %",
            f"{point['usage']['cores']['gateways']:.1f}",
            f"{point['usage']['cores']['models'] + point['usage']['cores']['triton']:.1f}",
            f"{point['p50_ms']:.0f} ms",
        ]
        for point in measured["small gateways"]
    ]
    return table(["gateways", "receipts/s", "GPU busy", "cores, gateways", "cores, Triton", "P50"], rows)


def targets(measured: Measured) -> str:
    """Latency at the rate of the target."""
    rows = []
    for name, title in CONFIGURATIONS.items():
        points = [measured.get(f"{name} target {kind}") for kind in MIXED]
        if any(points):
            rows.append([title, *(_target_cell(point) for point in points)])
    return table(["P50, P95 in ms", *MIXED], rows)


def _target_cell(point: Point | None) -> str:
    if point is None:
        return ""
    without = f", {lost(point)} of {sum(point['statuses'].values())} lost" if lost(point) else ""
    p95 = f"{point['p95_ms']:.0f}"
    return f"{point['p50_ms']:.0f}, {p95 if meets(point) else f'**{p95}**'}{without}"


def meets(point: Point) -> bool:
    """Whether 95 % came within the target and none was lost."""
    return bool(point["p95_ms"] < TARGET_MS) and not lost(point)


def verdicts(measured: Measured, configuration: str) -> tuple[list[str], list[str]]:
    """The kinds of pages that meet the target, with their margin, and those that miss it."""
    met, missed = [], []
    for kind in MIXED:
        point = measured.get(f"{configuration} target {kind}")
        if point is not None and meets(point):
            met.append(f"{kind} ({point['p95_ms']:.0f} ms, {1 - point['p95_ms'] / TARGET_MS:.0%} to spare)")
        elif point is not None:
            missed.append(f"{kind} ({point['p95_ms']:.0f} ms)")
    return met, missed


def rates_within_target(measured: Measured) -> str:
    """The highest rate that met the target, of those that were tried."""
    rows = []
    for name in (BASE, SHARED, BEST, "tiny", BEST_TINY):
        cells = [measured.within_target(name, kind) for kind in KINDS]
        rows.append(
            [CONFIGURATIONS[name], *("" if rate is None else f"{rate:.0f}" if rate else "none" for rate in cells)]
        )
    return table([f"pages a second with P95 < {TARGET_MS:.0f} ms", *KINDS], rows)


def sweeps(measured: Measured, configuration: str) -> str:
    """Latency over the rate, every load that was offered."""
    rows = [
        [
            kind,
            f"{point['rate']:.0f}",
            f"{point['images_per_s']:.0f}",
            *(f"{point[f'p{share}_ms']:.0f}" for share in (50, 95, 99)),
            str(lost(point)),
            f"{point['usage']['gpu_percent']:.0f} %",
            f"{point['usage']['gpu_mib'] / 1024:.1f}",
            f"{cores(point):.1f}",
        ]
        for kind in KINDS
        for point in measured.rates(configuration, kind)
    ]
    header = ["", "asked for/s", "pages/s", "P50 ms", "P95 ms", "P99 ms", "lost", "GPU busy", "GPU GiB", "cores"]
    return table(header, rows)


def stages(measured: Measured) -> str:
    """Where a page's time goes, at the rate of the target and at the peak."""
    loads = list(_loads(measured))
    names = list(loads[0][1]["stages_ms"])
    rows = [[title, *(f"{point['stages_ms'].get(name, 0.0):.0f}" for name in names)] for title, point in loads]
    return table(["ms a page", *names], rows)


def _loads(measured: Measured) -> Iterator[tuple[str, Point]]:
    for kind in ("receipts", "forms"):
        for configuration in (BASE, BEST):
            point, peak = measured[f"{configuration} target {kind}"], measured.peak(configuration, kind)
            yield f"{kind}, {CONFIGURATIONS[configuration]}, {point['images_per_s']:.0f}/s", point
            if peak is not None:
                yield f"{kind}, {CONFIGURATIONS[configuration]}, {peak['images_per_s']:.0f}/s", peak


def busiest(measured: Measured, kind: str) -> str:
    """The models that the GPU spends most time on at a peak, before and after."""
    rows = []
    for configuration in (BASE, SHARED, BEST):
        peak = measured.peak(configuration, kind)
        ranked = (
            sorted(peak["models"].items(), key=lambda item: -item[1]["calls"] * item[1]["compute_ms"]) if peak else []
        )
        for model, figures in ranked[:4]:
            per_s = figures["calls"] / peak["seconds"] if peak else 0.0
            rows.append(
                [
                    CONFIGURATIONS[configuration],
                    f"`{model}`",
                    f"{per_s:.0f}",
                    f"{figures['queue_ms']:.0f}",
                    f"{figures['compute_ms']:.0f}",
                ]
            )
    return table(["", "model", "calls/s", "waits in Triton, ms", "computes, ms"], rows)
