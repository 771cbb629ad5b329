"""The whole service with edited graphs beside the published ones. Pure."""

from collections.abc import Iterator

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import Measured, Point, cores, lost

EDITED, PUBLISHED = "graphs edited", "graphs published"
KINDS = ("receipts", "forms")
UNDER_WAY = (1, 8)
HEADER = [
    "", "under way", "graphs", "pages/s", "P50 ms", "P95 ms", "lost", "MB a page", "GPU busy", "cores", "of them models"
]  # fmt: skip


def graphs(measured: Measured) -> str:
    """Pages a second, latency and bytes of both, one page at a time and one for each gateway."""
    rows = [
        [
            kind,
            str(under_way),
            name.removeprefix("graphs "),
            f"{point['images_per_s']:.1f}",
            f"{point['p50_ms']:,.0f}",
            f"{point['p95_ms']:,.0f}",
            str(lost(point)),
            f"{megabytes_a_page(point):,.1f}",
            f"{point['usage']['gpu_percent']:.0f} %",
            f"{cores(point):.1f}",
            f"{point['usage']['cores']['models']:.1f}",
        ]
        for kind, under_way, name, point in _loads(measured)
    ]
    return table(HEADER, rows)


def _loads(measured: Measured) -> Iterator[tuple[str, int, str, Point]]:
    for kind in KINDS:
        for under_way in UNDER_WAY:
            for name in (EDITED, PUBLISHED):
                yield kind, under_way, name, load(measured, name, kind, under_way)


def load(measured: Measured, name: str, kind: str, under_way: int) -> Point:
    """One of the loads."""
    point: Point = measured[f"{name} {kind}, {under_way} under way"]
    return point


def megabytes_a_page(point: Point) -> float:
    """What crosses the loopback interface for a page: HTTP, and both directions of gRPC."""
    return float(point["loopback_bytes"] / max(1.0, point["lines"]["pages"]) / 1e6)


def gain(measured: Measured) -> str:
    """How much more the service reads, and how much less it sends, with edited graphs."""
    said = []
    for kind in KINDS:
        edited, published = (load(measured, name, kind, UNDER_WAY[-1]) for name in (EDITED, PUBLISHED))
        said.append(
            f"{kind} {edited['images_per_s'] / published['images_per_s']:.0f} times as many pages a second with "
            f"{megabytes_a_page(published) / megabytes_a_page(edited):.0f} times fewer bytes"
        )
    edited_gib, published_gib = (
        measured[f"{name.replace(' ', '-')} start"]["gpu_mib"] / 1024 for name in (EDITED, PUBLISHED)
    )
    return (
        f"With edited graphs {', '.join(said)}. On the GPU they take {edited_gib:.1f} GiB, the published ones "
        f"{published_gib:.1f}."
    )
