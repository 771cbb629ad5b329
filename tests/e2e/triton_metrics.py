"""What a tritonserver and a gateway count."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

from triton_models.server import TritonProcess


def page(url: str) -> str:
    """A page of metrics."""
    return httpx.get(url, timeout=10, trust_env=False).text


def samples_at(url: str, name: str, **labels: str) -> dict[tuple[tuple[str, str], ...], float]:
    """The samples of this name with at least these labels, by the other labels."""
    found = {}
    for family in text_string_to_metric_families(page(url)):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                found[tuple(sorted(sample.labels.items() - labels.items()))] = sample.value
    return found


def total_at(url: str, name: str, **labels: str) -> float:
    """Their sum."""
    return sum(samples_at(url, name, **labels).values())


def triton_requests(server: TritonProcess, model: str) -> float:
    """How many requests a model has answered. Errors of a Python backend count as successes in Triton's metrics."""
    return _triton_total(server, "nv_inference_request_success", model)


def triton_executions(server: TritonProcess, model: str) -> float:
    """How many times a model has run."""
    return _triton_total(server, "nv_inference_exec_count", model)


def _triton_total(server: TritonProcess, name: str, model: str) -> float:
    # Triton's counters lack the suffix, and the parser adds it.
    return total_at(f"http://127.0.0.1:{server.ports.metrics}/metrics", f"{name}_total", model=model)
