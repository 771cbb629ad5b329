"""A small app around a pipeline that answers what a test wants, and clients for it."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import numpy as np

from gateway.concurrency import CpuPool
from gateway.errors import BackendUnavailable
from gateway.ocr.decoding.picture import FileInfo
from gateway.ocr.elements import Page, PageWarning, Picture, TextLine, TextRegion, Transcription
from gateway.web.assembly import create_web
from gateway.web.routes import create_router
from gateway.web.services import RequestLimits, ServedModel, ServedModels, Services

LIMITS = RequestLimits(max_body_bytes=10_000, timeout_s=30.0, max_timeout_s=120.0)
MODELS = ServedModels(
    "ppocrv6-small",
    (ServedModel("text_detection", "1", "detection"), ServedModel("text_recognition", "2", "recognition")),
    alternatives=10,
)
QUAD = np.array([[10.04, 20.0], [110.26, 20.0], [110.0, 44.0], [10.0, 44.0]], np.float32)
LINE = TextLine(TextRegion(QUAD, QUAD, 0.912345), Transcription("hello, wörld", 0.987654), turned=180)
PICTURE = Picture("JPEG", "RGB", 100, 200, turned=True)
IMAGE = np.full((100, 200, 3), 240, np.uint8)
PAGE = Page(
    PICTURE, 200, 100, (LINE,), (PageWarning("line_split", "1 line was read in pieces"),), scaled=0.512345, image=IMAGE
)


@dataclass
class FakeFile:
    """An open file; `closed` counts."""

    data: bytes
    info: FileInfo
    closed: int = 0

    def close(self):
        self.closed += 1


@dataclass
class FakePipeline:
    """Returns its outcome, or raises it; remembers what it was asked.

    Attributes:
        outcome: a page, or an error to raise.
        outcomes: other ones, by (data, number).
        unopened: errors to raise when a file with these data is opened.
        pages: that each file is said to have.
        gate: if set, a reading waits for it.
        calls: data, options and deadline of each reading.
        files: that were opened.
        cancelled: readings that were cancelled.
        pixels: that each image is said to have.
        page_s: that each reading takes.
    """

    outcome: Page | Exception = PAGE
    outcomes: dict = field(default_factory=dict)
    unopened: dict = field(default_factory=dict)
    pages: int = 1
    gate: asyncio.Event | asyncio.Barrier | None = None
    calls: list = field(default_factory=list)
    files: list = field(default_factory=list)
    cancelled: int = 0
    pixels: int = 1_000_000
    page_s: float = 0.0

    async def open(self, data, options, *, deadline, times):
        if data in self.unopened:
            raise self.unopened[data]
        self.files.append(FakeFile(data, FileInfo("TIFF", (self.pixels,) * self.pages)))
        return self.files[-1]

    async def read(self, file, number, options, *, deadline, times):
        self.calls.append((file.data, options, deadline))
        outcome = self.outcomes.get((file.data, number), self.outcome)
        with times.stage("decode"):
            await self._wait()
            if isinstance(outcome, Exception):
                raise outcome
        return outcome

    async def _wait(self):
        try:
            await asyncio.sleep(self.page_s)
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    @property
    def data(self):
        return self.calls[-1][0]

    @property
    def options(self):
        return self.calls[-1][1]

    @property
    def deadline(self):
        return self.calls[-1][2]


@dataclass
class FakeCanary:
    ready: bool = True
    reason: str = ""


def no_models():
    raise BackendUnavailable("the models have not been read yet")


def services_with(pipeline=None, *, canary=None, models=lambda: MODELS, draining=False, limits=LIMITS, endpoints=tuple):
    return Services(
        pipeline=pipeline or FakePipeline(),
        canary=canary or FakeCanary(),
        models=models,
        limits=limits,
        draining=lambda: draining,
        pool=CpuPool(1),
        endpoints=endpoints,
    )


def app_with(pipeline=None, *, admission=None, **choices):
    app = create_web(version="0.0.0", admission=admission)
    app.include_router(create_router(services_with(pipeline, **choices)))
    return app


@asynccontextmanager
async def client_of(app):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client:
        yield client


async def post(pipeline=None, *, choices=None, **request):
    """One POST to /v1/ocr of a new app."""
    async with client_of(app_with(pipeline, **(choices or {}))) as client:
        return await client.post("/v1/ocr", **request)


async def send(app, messages, *, headers=(), path="/v1/ocr", method="POST", query=b""):
    """Play an HTTP server: hand over `messages`, one a receive; returns what the app sent and what was left."""
    waiting = list(messages)
    sent = []
    never = asyncio.Event()

    async def receive():
        if not waiting:
            await never.wait()
        return waiting.pop(0)

    async def collect(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        "scheme": "http",
    }
    await app(scope, receive, collect)
    return sent, waiting


def chunk(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}
