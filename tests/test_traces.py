"""Traces, collected in memory: spans for stages and chunks, and what goes to the inference server."""

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx
import numpy as np
import pytest
from fake_models import Bar, FakeModels, picture, png
from fake_triton import listening
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id
from watched_tritons import IMAGE, small_triton

from gateway import app as composition
from gateway.deadline import Deadline
from gateway.errors import InferenceFailed, SettingsError
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.triton import TritonBackend
from gateway.metrics import Sent
from gateway.otel import OtelTracer
from gateway.settings import Settings
from gateway.tracing import outgoing

PAGE = png(picture(Bar(40, 40, 200, 24, "a"), Bar(40, 120, 120, 24, "b")))
TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, NOT_SAMPLED = (f"00-{TRACE_ID}-{SPAN_ID}-{flags}" for flags in ("01", "00"))


class Recorder(FakeModels):
    """Notes what calls to the inference server would carry."""

    def __init__(self):
        super().__init__()
        self.carried = {"detect": [], "recognize": []}

    async def detect(self, image, *, timeout_s):
        self.carried["detect"].append(outgoing.get())
        return await super().detect(image, timeout_s=timeout_s)

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        self.carried["recognize"].append(outgoing.get())
        return await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@asynccontextmanager
async def client_of(models, exporter, monkeypatch):
    """A client of a service that traces. These models read the known picture wrongly, but it is still being read."""
    monkeypatch.setattr(composition, "make_tracer", lambda _: OtelTracer(SimpleSpanProcessor(exporter)))
    app = composition.create_app(Settings(), models, first_look_s=0.0)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client,
    ):
        yield client


async def test_a_request_has_a_span_with_one_for_each_stage_and_chunk_below_it(exporter, monkeypatch):
    async with client_of(FakeModels(), exporter, monkeypatch) as client:
        await client.post("/v1/ocr", content=PAGE, headers={"traceparent": SAMPLED})
    *parts, root = exporter.get_finished_spans()
    assert (root.name, format_trace_id(root.context.trace_id)) == ("POST", TRACE_ID)
    assert format_span_id(root.parent.span_id) == SPAN_ID
    assert {part.parent.span_id for part in parts} == {root.context.span_id}
    assert {"decode", "detect", "crops", "recognize", "ctc", "chunk", "order"} <= {part.name for part in parts}
    assert root.attributes["http.route"] == "/v1/ocr"
    assert root.attributes["http.response.status_code"] == 200
    chunks = [part for part in parts if part.name == "chunk"]
    assert root.attributes["ocr.chunks"] == len(chunks)
    assert sum(chunk.attributes["ocr.rows"] for chunk in chunks) >= 2


async def test_calls_carry_the_spans_that_they_are_made_in(exporter, monkeypatch):
    models = Recorder()
    async with client_of(models, exporter, monkeypatch) as client:
        await client.post("/v1/ocr", content=PAGE, headers={"traceparent": SAMPLED})
    spans = {
        f"00-{TRACE_ID}-{format_span_id(one.context.span_id)}-01": one.name for one in exporter.get_finished_spans()
    }
    # The known picture's calls carry nothing.
    assert [spans[one] for one in models.carried["detect"] if one] == ["detect"]
    assert {spans[one] for one in models.carried["recognize"] if one} == {"chunk"}
    assert outgoing.get() == ""


async def test_what_is_not_sampled_is_neither_collected_nor_sent_on(exporter, monkeypatch):
    models = Recorder()
    async with client_of(models, exporter, monkeypatch) as client:
        await client.post("/v1/ocr", content=PAGE, headers={"traceparent": NOT_SAMPLED})
        await client.get("/readyz")
    assert exporter.get_finished_spans() == ()
    assert {one for carried in models.carried.values() for one in carried} == {""}


async def test_a_request_that_fails_says_so_with_its_code_and_the_stage_too(exporter, monkeypatch):
    models = FakeModels()
    async with client_of(models, exporter, monkeypatch) as client:
        models.errors["detect"] = [InferenceFailed("broken")] * 2
        await client.post("/v1/ocr", content=PAGE)
    failed = {one.name: one.status.description for one in exporter.get_finished_spans() if not one.status.is_ok}
    assert failed == {"detect": "inference_failed", "POST": "inference_failed"}


async def test_a_chunk_that_two_requests_share_is_in_both_of_their_traces(exporter):
    tracer, models = OtelTracer(SimpleSpanProcessor(exporter)), Recorder()
    batcher = Batcher(models, BatchLimits(calls_in_flight=1))
    sent = [Sent(trace=tracer.begin(name, "")) for name in ("first", "one", "other")]
    crop = np.zeros((48, 100, 3), np.uint8)
    deadline = Deadline.after(60)
    await asyncio.gather(*(batcher.read([crop], deadline=deadline, sent=one) for one in sent))
    await batcher.close()
    spans = exporter.get_finished_spans()
    assert [span.attributes["ocr.rows"] for span in spans] == [1, 2, 2]
    assert [span.context.trace_id for span in spans[1:]] == [int(one.trace.traceparent[3:35], 16) for one in sent[1:]]
    assert models.carried["recognize"][1].startswith(sent[1].trace.traceparent[:35])


async def test_triton_is_told_of_the_trace_only_if_there_is_one():
    triton = small_triton()
    async with listening(triton) as address:
        backend = await TritonBackend.connect(address)
        await backend.detect(IMAGE, timeout_s=5)
        before = outgoing.set(SAMPLED)
        await backend.detect(IMAGE, timeout_s=5)
        outgoing.reset(before)
        await backend.close()
    assert [carried.get("traceparent") for carried in triton.carried] == [None, SAMPLED]


async def test_without_the_setting_nothing_is_traced():
    assert composition.make_tracer(Settings()) is None


async def test_without_the_extra_the_setting_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gateway.otel", None)
    with pytest.raises(SettingsError, match=r"ocr-gateway\[otel\]"):
        composition.make_tracer(Settings(traces=True))


def test_without_the_setting_neither_its_sdk_nor_its_exporter_is_loaded():
    known = "('opentelemetry.sdk', 'opentelemetry.exporter')"
    code = f"import sys, gateway.app; sys.exit(any(name.startswith({known}) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
