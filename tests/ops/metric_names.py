"""Which metrics rules, dashboards and documents speak of, and which there are."""

import re
from collections.abc import Collection
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.ops import alerts

GPU_METRICS = frozenset(
    (
        "nv_gpu_utilization",
        "nv_gpu_memory_total_bytes",
        "nv_gpu_memory_used_bytes",
        "nv_gpu_power_usage",
        "nv_gpu_power_limit",
        "nv_energy_consumption",
    )
)
"""Metrics that only a Triton with a GPU has: the list in its documentation (user guide, Metrics, GPU Metrics), and what
a Triton 2.51 on an H200 was seen to have."""

FOLDERS = ("prometheus", "grafana/dashboards", "kubernetes")
KINDS = frozenset((".yml", ".yaml", ".json", ".md"))
NO_METRICS = frozenset(("ocr_gateway",))
"""Words of that form which are something else."""

_METRIC = re.compile(r"(?<![\w:.*/-])(?:ocr|nv|process)_[a-z0-9_]+(?![\w*:(/.-])")
_RECORDED = re.compile(r"(?<![\w:])[a-z]+:(?:ocr|nv|request|padding|chunk)_[a-z0-9_]+(?::[a-z0-9_]+)?")
_TYPE = re.compile(r"(?m)^# TYPE (\S+) (\S+)")


def files() -> list[Path]:
    """Everything that speaks of metrics."""
    deployed = [path for folder in FOLDERS for path in (ROOT / "deploy" / folder).rglob("*.*")]
    return sorted(path for path in (*deployed, *(ROOT / "docs").glob("*.md")) if path.suffix in KINDS)


def names_in(exposition: str) -> set[str]:
    """The names that a /metrics has, with those of a histogram's series."""
    names = set()
    for name, kind in _TYPE.findall(exposition):
        names |= {name} | ({f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else set())
    return names


def unknown(path: Path, known: Collection[str]) -> set[str]:
    """The metrics that a file speaks of and that neither these, nor a GPU's, nor the rules' are."""
    text = path.read_text()
    named = set(_METRIC.findall(text)) - NO_METRICS - GPU_METRICS - set(known)
    return named | set(_RECORDED.findall(text)) - alerts.names("record")
