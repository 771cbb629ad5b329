"""A real Triton's spans join the trace of a request that is sampled, and it makes none for one that is not."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from gateways import connected
from serve_command import eventually
from served_models import EDITED

from gateway.tracing import outgoing
from triton_models.server import Ports, TritonProcess

pytestmark = pytest.mark.e2e

TRACE_ID, PARENT_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def collector() -> Iterator[tuple[str, list[dict]]]:
    """Something that takes spans (OTLP over HTTP, JSON); gives its address and the spans so far."""
    spans = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            for resource in json.loads(body)["resourceSpans"]:
                spans.extend(span for scope in resource["scopeSpans"] for span in scope["spans"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
    server.shutdown()
    server.server_close()


async def test_triton_joins_the_trace_of_a_sampled_request_and_traces_nothing_else(
    triton_runtime, repositories, tmp_path
):
    image = np.full((64, 64, 3), 255, np.uint8)
    with (
        collector() as (address, spans),
        TritonProcess(
            triton_runtime,
            repositories[EDITED],
            log_file=tmp_path / "triton.log",
            ports=Ports.free(),
            extra_flags=(
                "--trace-config=mode=opentelemetry",
                f"--trace-config=opentelemetry,url={address}",
                "--trace-config=level=TIMESTAMPS",
                "--trace-config=rate=0",
            ),
        ) as triton,
    ):
        async with connected(triton, EDITED) as backend:
            await backend.detect(image, timeout_s=60)
            before = outgoing.set(f"00-{TRACE_ID}-{PARENT_ID}-01")
            await backend.detect(image, timeout_s=60)
            outgoing.reset(before)
        assert eventually(lambda: any(span.get("parentSpanId", "").lower() == PARENT_ID for span in spans), within_s=60)
    assert {span["traceId"].lower() for span in spans} == {TRACE_ID}
    assert "InferRequest" in {span["name"] for span in spans}
