"""Counters of gateways and Triton, as their metrics pages give them: what happened between two readings."""

import re
import urllib.request
from collections.abc import Iterable, Mapping
from typing import TypeAlias

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
MODEL = re.compile(r'model="([^"]*)"')

Counters: TypeAlias = Mapping[tuple[str, str], float]
"""By name and model ("" where a sample has no such label), summed over all other labels."""


def read_counters(ports: Iterable[int]) -> Counters:
    """The sums over the metrics pages on these ports of the loopback interface."""
    totals: dict[tuple[str, str], float] = {}
    for port in ports:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10.0) as answer:
            for key, value in parse(answer.read().decode()).items():
                totals[key] = totals.get(key, 0.0) + value
    return totals


def parse(text: str) -> Counters:
    """The counters of one page in Prometheus's text format."""
    totals: dict[tuple[str, str], float] = {}
    for name, labels, value in SAMPLE.findall(text):
        model = MODEL.search(labels)
        key = name, model[1] if model else ""
        totals[key] = totals.get(key, 0.0) + float(value)
    return totals


def gateway_figures(before: Counters, after: Counters) -> dict[str, float]:
    """What the gateways sent to recognition."""

    def grown(name: str) -> float:
        return after.get((name, ""), 0.0) - before.get((name, ""), 0.0)

    calls = grown("ocr_chunk_rows_count")
    padded = grown("ocr_padded_pixels_total")
    return {
        "recognition_calls": calls,
        "rows_per_call": round(grown("ocr_chunk_rows_sum") / calls, 2) if calls else 0.0,
        "padding": round(1 - grown("ocr_line_pixels_total") / padded, 3) if padded else 0.0,
        "pages": grown("ocr_pages_total"),
        "lines": grown("ocr_lines_total"),
    }


def triton_figures(before: Counters, after: Counters) -> dict[str, dict[str, float]]:
    """Per model that was called: calls, and milliseconds of queueing and of computing per call."""
    figures = {}
    for name, model in after:
        if name != "nv_inference_exec_count":
            continue

        def grown(counter: str, model: str = model) -> float:
            return after.get((counter, model), 0.0) - before.get((counter, model), 0.0)

        calls = grown("nv_inference_exec_count")
        if calls:
            figures[model] = {
                "calls": calls,
                "queue_ms": round(grown("nv_inference_queue_duration_us") / calls / 1000, 2),
                "compute_ms": round(grown("nv_inference_compute_infer_duration_us") / calls / 1000, 2),
            }
    return figures
