"""The dashboards as tables; `python deploy/grafana/build.py` writes them to `dashboards/` as Grafana reads them.

A panel is a title, a unit, queries with their legends, and what to see in it. Panels are two in a row, in this order.
"""

import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "dashboards"
SCHEMA = 39
SOURCE = {"type": "prometheus", "uid": "prometheus"}
GPU = "Needs a GPU."
"""What the description of a panel begins with that has no data without one."""
OCR = 'route=~"/v1/ocr|/v1/infer|/ocr|/api/ocr|/predict/ocr_system"'


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel.

    Attributes:
        title: what is shown.
        unit: as Grafana names it.
        queries: PromQL, by legend.
        description: what to see in it.
    """

    title: str
    unit: str
    queries: dict[str, str]
    description: str = ""


def rate(metric: str, by: str = "", where: str = "") -> str:
    """Growth per second, summed over all but some labels."""
    grouped = f"sum by ({by}) " if by else "sum"
    return f"{grouped}(rate({metric}{{{where}}}[$__rate_interval]))".replace("{}", "")


def quantile(share: float, metric: str, by: str = "", where: str = "") -> str:
    """A quantile of a histogram."""
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', f'{by}, le' if by else 'le', where)})"


def mean(metric: str, by: str = "") -> str:
    """The mean of what a histogram has seen."""
    return per(f"{metric}_sum", f"{metric}_count", by)


def per(metric: str, other: str, by: str = "") -> str:
    """How much one counter grows for each one of another."""
    return f"{rate(metric, by)} / {rate(other, by)}"


def or_zero(query: str) -> str:
    """0 where nothing has been counted yet."""
    return f"{query} or vector(0)"


OVERVIEW = (
    Panel("Requests", "reqps", {"{{status}}": rate("ocr_http_requests_total", "status", OCR)}),
    Panel(
        "Failed and slow requests, by objective",
        "percentunit",
        {"failed": "ocr:request_errors:ratio_rate5m", "slower than 200 ms": "ocr:request_slow:ratio_rate5m"},
        "Objectives: 0.1 % and 5 %.",
    ),
    Panel(
        "Duration",
        "s",
        {
            f"p{share * 100:g}": quantile(share, "ocr_http_request_duration_seconds", where=OCR)
            for share in (0.5, 0.95, 0.99)
        },
    ),
    Panel(
        "How fast the error budget burns",
        "none",
        {window: f"ocr:request_errors:ratio_rate{window} / 0.001" for window in ("5m", "1h", "6h", "3d")},
        "1 uses it up in a month; 14.4 pages somebody.",
    ),
    Panel("Problems by code", "reqps", {"{{code}}": or_zero(rate("ocr_errors_total", "code"))}),
    Panel(
        "Refused at admission, by reason",
        "reqps",
        {"{{reason}}": or_zero(rate("ocr_admission_refused_total", "reason"))},
    ),
    Panel(
        "Under way",
        "none",
        {"requests {{instance}}": "ocr_http_requests_in_flight", "connections {{instance}}": "ocr_connections"},
    ),
    Panel(
        "Ready",
        "none",
        {"ready {{instance}}": "ocr_ready", "draining {{instance}}": "ocr_draining"},
        "1: /readyz says yes.",
    ),
    Panel("Tritons by state", "none", {"{{endpoint}} {{state}}": "sum by (endpoint, state) (ocr_endpoint_state) > 0"}),
    Panel(
        "Pages and lines",
        "none",
        {
            "pages": rate("ocr_pages_total"),
            "lines": rate("ocr_lines_total"),
            "failed {{code}}": or_zero(rate("ocr_pages_failed_total", "code")),
        },
        "Pages that fail are those of answers whose other pages could be read.",
    ),
    Panel(
        "Bodies",
        "Bps",
        {
            "received {{route}}": rate("ocr_http_request_body_bytes_total", "route", OCR),
            "sent {{route}}": rate("ocr_http_response_body_bytes_total", "route", OCR),
        },
    ),
    Panel(
        "Log lines",
        "none",
        {"{{level}}": rate("ocr_log_lines_total", "level"), "lost": or_zero(rate("ocr_log_lines_lost_total"))},
    ),
)

STAGES = (
    Panel("95th percentile of each stage", "s", {"{{stage}}": "stage:ocr_stage_duration_seconds:p95_5m"}),
    Panel(
        "Where the time of a mean request goes",
        "s",
        {
            "{{stage}}": f"{rate('ocr_stage_duration_seconds_sum', 'stage')} / on () group_left () "
            f"{rate('ocr_http_request_duration_seconds_count', where=OCR)}"
        },
        "Stack it: the rest up to the duration is upload, waiting for the event loop, and sending.",
    ),
    Panel("Duration of a mean request", "s", {"{{route}}": mean("ocr_http_request_duration_seconds", "route")}),
    Panel(
        "Waiting for a free call",
        "s",
        {
            "detection p95": quantile(0.95, "ocr_detection_wait_seconds"),
            "recognition p95": quantile(0.95, "ocr_batcher_wait_seconds"),
        },
        "The queue: it grows before anything else does when the models are the bottleneck.",
    ),
    Panel("Calls to the models", "s", {"{{model}} p95": quantile(0.95, "ocr_backend_call_duration_seconds", "model")}),
    Panel(
        "Network and the rest: call less what Triton says it took",
        "s",
        {
            "{{model}}": f"{mean('ocr_backend_call_duration_seconds', 'model')} - "
            f"{per('nv_inference_request_duration_us', 'nv_inference_request_success', 'model')} / 1e6"
        },
        "Encoding, gRPC, and the network. Without load too high: Triton counts the probes, too, which are quick.",
    ),
    Panel(
        "Heartbeat, without a model",
        "s",
        {"{{endpoint}} p90": quantile(0.9, "ocr_endpoint_heartbeat_seconds", "endpoint")},
    ),
    Panel("Event loop: how late", "s", {"{{instance}} p99": quantile(0.99, "ocr_event_loop_lag_seconds", "instance")}),
    Panel("Lines that wait for a call", "none", {"{{instance}}": "ocr_batcher_queued_rows"}),
    Panel(
        "Pixels of pages", "none", {"p50": quantile(0.5, "ocr_page_pixels"), "p95": quantile(0.95, "ocr_page_pixels")}
    ),
    Panel(
        "Known picture",
        "s",
        {"p50": quantile(0.5, "ocr_canary_duration_seconds")},
        "The same work for ever: what moves here is not the images.",
    ),
    Panel("Warnings with pages", "none", {"{{code}}": or_zero(rate("ocr_warnings_total", "code"))}),
)

TRITON = (
    Panel("Requests by model", "reqps", {"{{model}}": rate("nv_inference_request_success", "model")}),
    Panel(
        "Failures by reason", "reqps", {"{{model}} {{reason}}": rate("nv_inference_request_failure", "model, reason")}
    ),
    Panel(
        "Queue of Triton, for each request",
        "µs",
        {"{{model}}": per("nv_inference_queue_duration_us", "nv_inference_request_success", "model")},
    ),
    Panel(
        "Compute, for each execution",
        "µs",
        {"{{model}}": per("nv_inference_compute_infer_duration_us", "nv_inference_exec_count", "model")},
        "The model itself. It grows alone: the GPU, or its neighbours.",
    ),
    Panel(
        "Queue to compute",
        "none",
        {"{{model}}": "model:nv_inference_queue:ratio_rate5m"},
        "Above 1: more than it can do. KEDA scales on this.",
    ),
    Panel(
        "Mean batch",
        "none",
        {"{{model}}": "model:nv_inference_batch:mean_5m"},
        "Rows come batched from the gateway: this counts them.",
    ),
    Panel("Pending requests", "none", {"{{model}}": "sum by (model) (nv_inference_pending_request_count)"}),
    Panel("Calls by outcome", "reqps", {"{{outcome}}": rate("ocr_backend_calls_total", "outcome")}),
    Panel("Calls of each Triton", "reqps", {"{{endpoint}}": rate("ocr_endpoint_calls_total", "endpoint")}),
    Panel(
        "Retries, cancelled calls, calls cut for want of memory",
        "none",
        {
            "retries {{code}}": or_zero(rate("ocr_backend_retries_total", "code")),
            "cancelled": rate("ocr_backend_calls_cancelled_total"),
            "cut {{bucket}}": or_zero(rate("ocr_oom_splits_total", "bucket")),
        },
    ),
    Panel("Messages", "Bps", {"{{direction}}": rate("ocr_backend_wire_bytes_total", "direction")}),
    Panel(
        "Versions",
        "none",
        {"{{model}} {{version}}": "count by (model, version) (ocr_endpoint_model_info)"},
        "Tritons with each.",
    ),
    Panel(
        "GPU memory",
        "bytes",
        {"used {{gpu_uuid}}": "nv_gpu_memory_used_bytes", "of {{gpu_uuid}}": "nv_gpu_memory_total_bytes"},
        GPU,
    ),
    Panel(
        "GPU utilisation",
        "percentunit",
        {"{{gpu_uuid}}": "nv_gpu_utilization"},
        f"{GPU} Of its processors, not of its memory.",
    ),
    Panel("GPU power", "watt", {"{{gpu_uuid}}": "nv_gpu_power_usage", "limit {{gpu_uuid}}": "nv_gpu_power_limit"}, GPU),
    Panel(
        "Memory and cores of Triton's machine",
        "percentunit",
        {"cores": "nv_cpu_utilization", "memory": "nv_cpu_memory_used_bytes / nv_cpu_memory_total_bytes"},
    ),
)

CAPACITY = (
    Panel(
        "Slots", "none", {"in use {{instance}}": "ocr_admission_slots_in_use", "of {{instance}}": "ocr_admission_slots"}
    ),
    Panel("Waiting for a slot", "none", {"{{line}}": "sum by (line) (ocr_admission_waiting)"}),
    Panel(
        "Pixels under way, of the budget",
        "percentunit",
        {"{{instance}}": "ocr_admission_pixels_in_use / ocr_admission_pixels_limit"},
    ),
    Panel(
        "Memory",
        "bytes",
        {
            "{{job}} {{instance}}": 'process_resident_memory_bytes{job="ocr-gateway"}',
            "slow uploads {{instance}}": "ocr_admission_parked_bytes",
        },
    ),
    Panel(
        "Work for threads",
        "none",
        {"jobs {{instance}}": "ocr_cpu_pool_jobs", "threads {{instance}}": "ocr_cpu_pool_threads"},
    ),
    Panel("Decoder processes", "none", {"busy {{instance}}": "ocr_decoders_busy", "of {{instance}}": "ocr_decoders"}),
    Panel(
        "Cores of the gateway",
        "none",
        {"{{instance}}": 'rate(process_cpu_seconds_total{job="ocr-gateway"}[$__rate_interval])'},
    ),
    Panel(
        "Calls under way",
        "none",
        {"{{model}}": "sum by (model) (ocr_backend_calls_in_flight)"},
        "Stands at its limit: the models are the bottleneck.",
    ),
    Panel(
        "Lines in a call",
        "none",
        {"mean": "ocr:chunk_rows:mean_5m"},
        "Grows with load. 1 under load: nothing is shared.",
    ),
    Panel("Padding waste", "percentunit", {"waste": "ocr:padding_waste:ratio_rate5m"}),
    Panel("Admitted by priority", "reqps", {"{{priority}}": rate("ocr_admission_admitted_total", "priority")}),
    Panel(
        "Open files, of the limit",
        "percentunit",
        {"{{instance}}": 'process_open_fds{job="ocr-gateway"} / process_max_fds'},
    ),
    Panel("Connections, of the limit", "percentunit", {"{{instance}}": "ocr_connections / ocr_connections_limit"}),
    Panel("Slow uploads", "none", {"{{instance}}": "ocr_admission_parked_uploads"}),
)

DASHBOARDS = {
    "overview": ("OCR: service", OVERVIEW),
    "stages": ("OCR: stages of a request", STAGES),
    "triton": ("OCR: Triton and GPU", TRITON),
    "capacity": ("OCR: capacity", CAPACITY),
}


def dashboard(name: str) -> str:
    """The JSON of a dashboard."""
    title, panels = DASHBOARDS[name]
    described = {
        "uid": f"ocr-{name}",
        "title": title,
        "tags": ["ocr"],
        "schemaVersion": SCHEMA,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "panels": [_panel(number, panel) for number, panel in enumerate(panels)],
    }
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def _panel(number: int, panel: Panel) -> dict[str, object]:
    targets = [
        {"refId": chr(ord("A") + index), "expr": query, "legendFormat": legend}
        for index, (legend, query) in enumerate(panel.queries.items())
    ]
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": SOURCE,
        "gridPos": {"x": 12 * (number % 2), "y": 8 * (number // 2), "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def main() -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    for name in DASHBOARDS:
        (FOLDER / f"{name}.json").write_text(dashboard(name), encoding="utf-8")


if __name__ == "__main__":
    main()
