"""What rules, dashboards and documents speak of is on the real /metrics of a gateway and of a Triton."""

import httpx
import pytest

from tests.ops import metric_names

pytestmark = pytest.mark.e2e


def test_every_metric_that_is_spoken_of_is_on_a_real_metrics_page(gateway, triton):
    pages = (f"{gateway}/metrics", f"http://127.0.0.1:{triton.ports.metrics}/metrics")
    known = set().union(*(metric_names.names_in(httpx.get(page, trust_env=False).text) for page in pages))
    assert {"ocr_http_requests_total", "nv_inference_request_success", "process_open_fds"} <= known
    faults = {path.name: names for path in metric_names.files() if (names := metric_names.unknown(path, known))}
    assert faults == {}
