"""The composition root: makes every part of the gateway, opens it and closes it. Nothing is global."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import uvicorn
from fastapi import FastAPI
from prometheus_client import disable_created_metrics

from gateway import __version__
from gateway.canary import Canary
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.drain import DrainingServer
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.detector import Detector
from gateway.inference.embedded import EmbeddedBackend
from gateway.inference.triton import TritonBackend
from gateway.line_reader import LineReader
from gateway.logs import logging_to
from gateway.metrics import StageTimes
from gateway.ocr.decoding import DecodeLimits
from gateway.ocr.options import PageOptions
from gateway.pipeline import OcrPipeline
from gateway.settings import Settings
from gateway.web.assembly import create_web
from gateway.web.middleware import CloseWhileDraining
from gateway.web.routes import create_router
from gateway.web.services import RequestLimits, ServedModels, Services


def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series beside every counter, which nobody reads
    with (
        logging_to(level=settings.log_level, log_format=settings.log_format),
        asyncio.Runner(loop_factory=event_loop_factory()) as runner,
    ):
        runner.run(serve(settings))
    return 0


async def serve(settings: Settings) -> None:
    """Make the gateway and run its server on this event loop."""
    backend = make_backend(settings)
    app = create_app(settings, backend, draining=lambda: server.draining)
    server = DrainingServer(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http="httptools",
            log_config=None,
            access_log=False,
            server_header=False,
        ),
        delay_s=settings.drain_delay_s,
        longest_request_s=settings.max_timeout_s,
    )
    await server.serve()


def event_loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where there is one."""
    with suppress(ImportError):
        import uvloop  # noqa: PLC0415 - not on Windows

        return uvloop.new_event_loop
    return None


def make_backend(settings: Settings) -> Backend:
    """The backend that the settings ask for; the models are read later, so it may be made before they are there."""
    if settings.backend == "embedded":
        return EmbeddedBackend(
            settings.model_repository,
            threads=settings.embedded_threads,
            detection_model=settings.detection_model,
            recognition_model=settings.recognition_model,
        )
    return TritonBackend(
        settings.triton_address,
        detection_model=settings.detection_model,
        recognition_model=settings.recognition_model,
    )


def create_app(settings: Settings, backend: Backend, *, draining: Callable[[], bool] = lambda: False) -> FastAPI:
    """The application over a backend, which it closes at the end; to be called on a running event loop."""
    pool = CpuPool(settings.cpu_threads or None)
    limits = BatchLimits(settings.max_chunk_pixels, settings.recognition_calls)
    batcher = Batcher(backend, limits)
    pipeline = OcrPipeline(
        backend,
        Detector(backend, calls_in_flight=settings.detection_calls),
        LineReader(backend, batcher, pool),
        pool,
        DecodeLimits(settings.max_pixels, settings.max_side),
    )

    async def read_known_picture(data: bytes, timeout_s: float) -> str:
        await backend.refresh()
        page = await pipeline.read(data, PageOptions(), deadline=Deadline.after(timeout_s), times=StageTimes())
        return page.text

    canary = Canary(
        read_known_picture,
        lambda: backend.last_answer_at,
        interval_s=settings.canary_interval_s,
        timeout_s=settings.canary_timeout_s,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(canary.run())
        try:
            yield
        finally:
            watching.cancel()
            await batcher.close()
            await backend.close()
            pool.close()

    services = Services(
        pipeline=pipeline,
        canary=canary,
        models=lambda: ServedModels.of(backend.contract),
        limits=RequestLimits(settings.max_body_bytes, settings.timeout_s, settings.max_timeout_s),
        draining=draining,
    )
    app = create_web(version=__version__, lifespan=lifespan)
    app.include_router(create_router(services))
    app.add_middleware(CloseWhileDraining, draining=draining)
    return app
