"""A deployment that runs already: what is asked of it before anything is sent."""

import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from loadtest.capacity.deployment import running
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.watching import Sources, Watch

PAGES = {
    "/readyz": "{}",
    "/metrics": 'ocr_build_info{version="1.2"} 1.0\nocr_cpu_pool_threads 2.0\n',
    "/elsewhere": "up 1\n",
}


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        text = PAGES.get(self.path)
        self.send_response(404 if text is None else 200)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def url():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_running_deployment_is_named_with_its_own_version(url):
    with running(url + "/", None, None) as deployment:
        assert deployment.name == f"gateway 1.2 at {url}"
        assert deployment.sources.also("load generator", 1) == deployment.sources


def test_metrics_of_somebody_else_are_refused(url):
    with pytest.raises(CapacityError, match="has no metrics of this gateway"), running(url, f"{url}/elsewhere", None):
        pass


def test_what_is_not_ready_is_not_measured(url):
    with pytest.raises(CapacityError, match="is not ready"), running(f"{url}/none", None, None):
        pass
    with (
        pytest.raises(CapacityError, match="nobody answers at"),
        running("http://127.0.0.1:1", None, None),
    ):
        pass


def test_a_reading_has_the_metrics_and_the_processor_times_of_what_runs_here(url):
    reading = Sources(f"{url}/metrics", None, {"gateway": os.getpid()}).read()
    assert reading.gateway["ocr_cpu_pool_threads", ""] == 2.0
    assert 0 < reading.processor_s["gateway"] <= reading.processor_s["processors"]
    assert reading.at == pytest.approx(time.time(), abs=60.0)


def test_a_metrics_page_that_is_gone_ends_no_watch(url, monkeypatch):
    monkeypatch.setattr("loadtest.capacity.watching.INTERVAL_S", 0.01)
    with Watch(Sources(f"{url}/none", None, {})) as watch:
        while not watch.missed:
            time.sleep(0.01)
    assert watch.readings == []
