"""Gateways on a backend: the pipeline in this process, or the whole service in one of its own."""

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.detector import Detector
from gateway.inference.embedded import EmbeddedBackend
from gateway.inference.triton import TritonBackend
from gateway.inference.watching import WatchOptions
from gateway.line_reader import LineReader
from gateway.local import GatewayProcess, PairOptions, base_url
from gateway.metrics import StageTimes
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.elements import Page
from gateway.ocr.options import DetectionOptions, PageOptions
from gateway.pipeline import OcrPipeline
from triton_models.catalog import DEFAULT_MODEL_SET
from triton_models.plans import Names
from triton_models.server import Ports, TritonProcess

AS_IT_IS = PageOptions(detection=DetectionOptions(min_side=0))
"""Small pages are not enlarged: the tests are quicker, and a page of 320x480 pixels has a model for its very shape."""

ONLY_REQUESTS = {"OCR_CANARY_INTERVAL_S": "3600", "OCR_TRITON_PROBE_INTERVAL_S": "3600"}
"""Settings with which Triton, after the start, gets calls of requests only."""

Read = Callable[..., Awaitable[Page]]


@asynccontextmanager
async def connected(triton: TritonProcess, names: Names) -> AsyncIterator[TritonBackend]:
    """A backend on the models of these names; after the start, Triton gets calls of requests only."""
    backend = await TritonBackend.connect(
        triton.grpc_address,
        detection_model=names.detection,
        recognition_model=names.recognition,
        watch=WatchOptions(probe_interval_s=3600),
    )
    try:
        yield backend
    finally:
        await backend.close()


@asynccontextmanager
async def embedded(repository: Path, names: Names) -> AsyncIterator[EmbeddedBackend]:
    """The same models in this process."""
    backend = await EmbeddedBackend.open(
        repository, detection_model=names.detection, recognition_model=names.recognition
    )
    try:
        yield backend
    finally:
        await backend.close()


@asynccontextmanager
async def pipeline_on(
    backend: Backend,
    *,
    limits: BatchLimits = BatchLimits(),  # noqa: B008 - frozen
    around: Callable[[Batcher], Batcher] = lambda batcher: batcher,
) -> AsyncIterator[Read]:
    """A pipeline put together as the service does it; gives `read(data, options)`."""
    batcher = Batcher(backend, limits)
    with CpuPool() as pool:
        lines = LineReader(backend, around(batcher), pool)
        decoders = Decoders(pool, DecodeLimits())
        pipeline = OcrPipeline(backend, Detector(backend, calls_in_flight=2), lines, pool, decoders)

        async def read(data: bytes, options: PageOptions = AS_IT_IS) -> Page:
            return await pipeline.read_first(data, options, deadline=Deadline.after(60), times=StageTimes())

        try:
            yield read
        finally:
            await batcher.close()


@contextmanager
def running_gateway(triton_address: str, **settings: str) -> Iterator[str]:
    """A gateway process with these settings, once it is ready; gives its URL."""
    options = PairOptions("triton", "127.0.0.1", Ports.free().http, DEFAULT_MODEL_SET, Path())
    own = {"OCR_HOST": options.host, "OCR_PORT": str(options.port), "OCR_TRITON_ADDRESSES": triton_address}
    with GatewayProcess(own | settings, options) as process:
        process.wait_ready(60.0)
        yield base_url(options)


@contextmanager
def running_patient_gateway(triton_address: str) -> Iterator[str]:
    """The same, for a Triton that may be silent for a while (`patient_gateway`)."""
    url = f"http://127.0.0.1:{(port := Ports.free().http)}"
    own = {
        "OCR_PORT": str(port),
        "OCR_TRITON_ADDRESSES": triton_address,
        "OCR_LOG_FORMAT": "text",
        "OCR_TIMEOUT_S": "60",
        "OCR_CANARY_TIMEOUT_S": "60",
        "OCR_DRAIN_DELAY_S": "0",
    }
    command = [sys.executable, str(Path(__file__).with_name("patient_gateway.py"))]
    with subprocess.Popen(command, env=os.environ | own) as process:
        try:
            _wait_ready(process, url)
            yield url
        finally:
            process.terminate()


def _wait_ready(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz", timeout=60, trust_env=False).is_success:
                return
        time.sleep(0.1)
    pytest.fail("the gateway has ended")


def assert_same_answer(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    """Two answers over HTTP say the same: texts and quads as they are, scores to the last of their four digits."""
    (page,), (expected_page,) = answer["pages"], expected["pages"]
    assert page["text"] == expected_page["text"]
    assert [line["quad"] for line in page["lines"]] == [line["quad"] for line in expected_page["lines"]]
    scores, expected_scores = ([line["score"] for line in one["lines"]] for one in (page, expected_page))
    assert scores == pytest.approx(expected_scores, abs=1.01e-4)
    assert answer["warnings"] == expected["warnings"]
