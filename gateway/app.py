"""The composition root: makes every part of the gateway, opens it and closes it. Nothing is global."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import uvicorn
from fastapi import FastAPI
from prometheus_client import disable_created_metrics

from gateway import __version__, metrics
from gateway.canary import Canary
from gateway.candidate import Candidate, Candidates, FallingBack, no_candidate
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.decoders.pool import DecoderPool, ProcessLimits
from gateway.documents import PageReader
from gateway.drain import DrainingServer
from gateway.errors import SettingsError
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.channels import TlsFiles, TritonTls
from gateway.inference.detector import Detector
from gateway.inference.embedded import EmbeddedBackend
from gateway.inference.served_models import CANDIDATE
from gateway.inference.triton import TritonBackend
from gateway.inference.watching import WatchOptions
from gateway.line_reader import LineReader
from gateway.logs import logging_to
from gateway.loop_lag import watch_loop_lag
from gateway.metrics import StageTimes
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import PageOptions
from gateway.pipeline import OcrPipeline
from gateway.settings import Settings
from gateway.tracing import Tracer
from gateway.watchdog import give_signs_of_life
from gateway.web.admission import Admission, Door
from gateway.web.assembly import create_web
from gateway.web.clients import Clients
from gateway.web.connections import ConnectionLimits, guarded
from gateway.web.gate import Gate, GateLimits
from gateway.web.middleware import CloseWhileDraining
from gateway.web.page import create_page_router
from gateway.web.routes import WORK, create_router
from gateway.web.services import Offer, RequestLimits, ServedModels, Services

SLOTS_PER_CALL = 16
"""Requests under way for each recognition call: enough to fill chunks, and for two users with a browser each."""


CANDIDATE_INTERVAL_S = 2.0
"""How long a gateway may not know of a candidate, or of its new share."""

FIRST_LOOK_S = 2.0
"""The listener opens after the first reading of the known picture, or so late: a proxy that notices nothing but refused
connections (nginx) would send requests that can't be answered yet."""


def run(settings: Settings, backend: Callable[[Settings], Backend] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. Tests bring a backend of their own."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # a series beside every counter, which nobody reads
    with (
        logging_to(level=settings.log_level, log_format=settings.log_format),
        asyncio.Runner(loop_factory=event_loop_factory()) as runner,
    ):
        runner.run(serve(settings, backend or make_backend))
    return 0


async def serve(settings: Settings, backend: Callable[[Settings], Backend]) -> None:
    """Make the gateway and run its server on this event loop."""
    limits = ConnectionLimits(settings.max_connections, settings.max_header_bytes, settings.header_timeout_s)
    app = create_app(settings, backend(settings), draining=lambda: server.draining)
    server = DrainingServer(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            http=guarded(limits),  # type: ignore[arg-type]  # uvicorn only calls it, as it would call the class
            ws="none",
            timeout_keep_alive=settings.keep_alive_s,
            log_config=None,
            access_log=False,
            server_header=False,
        ),
        delay_s=settings.drain_delay_s,
        longest_request_s=settings.max_timeout_s,
        ops_port=settings.ops_port,
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
    return triton_backend(settings)


def triton_backend(settings: Settings, *, prefix: str = "", label: str = "") -> TritonBackend:
    """Models on the Tritons whose names begin so."""
    return TritonBackend(
        settings.triton_addresses,
        detection_model=f"{prefix}{settings.detection_model}",
        recognition_model=f"{prefix}{settings.recognition_model}",
        watch=WatchOptions(probe_interval_s=settings.triton_probe_interval_s),
        tls=triton_tls(settings),
        label=label,
    )


def triton_tls(settings: Settings) -> TritonTls | None:
    """How connections to Triton are encrypted, if they are to be.

    Raises:
        SettingsError: a file can't be read.
    """
    if settings.triton_ca is None:
        return None
    files = TlsFiles(settings.triton_ca, settings.triton_certificate, settings.triton_key, settings.triton_server_name)
    try:
        return files.read()
    except OSError as error:
        raise SettingsError(f"a certificate for Triton can't be read: {error}") from error


def create_app(
    settings: Settings,
    backend: Backend,
    *,
    draining: Callable[[], bool] = lambda: False,
    first_look_s: float = FIRST_LOOK_S,
) -> FastAPI:
    """The application over a backend, which it closes at the end; to be called on a running event loop."""
    tracer = make_tracer(settings)
    pool = CpuPool(settings.cpu_threads or None)
    batcher = make_batcher(settings, backend)
    processes = make_decoder_pool(settings)
    decoders = Decoders(pool, DecodeLimits(settings.max_pixels, settings.max_side), processes)

    pipeline = make_pipeline(settings, backend, batcher, pool, decoders)
    candidates = make_candidates(settings, backend, pool, decoders)

    async def read_known_picture(data: bytes, timeout_s: float) -> str:
        await backend.refresh()
        page = await pipeline.read_first(data, PageOptions(), deadline=Deadline.after(timeout_s), times=StageTimes())
        return page.text

    canary = Canary(
        read_known_picture,
        lambda: backend.last_answer_at,
        lambda: backend.outage,
        interval_s=settings.canary_interval_s,
        timeout_s=settings.canary_timeout_s,
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if processes:
            processes.warm_up()
        tasks = [asyncio.create_task(canary.run())]
        await canary.wait_tried(first_look_s)
        more = (give_signs_of_life(os.environ), watch_loop_lag(), candidates.run())
        tasks += [asyncio.create_task(work) for work in more]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await candidates.close()
            await batcher.close()
            await backend.close()
            if processes:
                processes.close()
            pool.close()
            if tracer:
                tracer.close()

    request_limits = RequestLimits(
        settings.max_body_bytes,
        settings.timeout_s,
        settings.max_timeout_s,
        settings.body_timeout_s,
        settings.max_files,
        settings.max_pages,
        settings.max_stream_s,
    )
    services = Services(
        pipeline=pipeline,
        canary=canary,
        models=lambda: ServedModels.of(backend.contract),
        limits=request_limits,
        draining=draining,
        pool=pool,
        endpoints=lambda: backend.endpoints,
        candidate=lambda: make_offer(candidates, pipeline),
    )
    door = Door(WORK, request_limits, settings.max_pixels, lambda: canary.outage, backend.wait_for_return)
    admission = make_admission(settings, door)
    app = create_web(
        version=__version__, lifespan=lifespan, admission=admission, ops_port=settings.ops_port, tracer=tracer
    )
    app.include_router(create_router(services))
    if settings.page:
        app.include_router(create_page_router())
    app.add_middleware(CloseWhileDraining, draining=draining)
    metrics.BUILD.labels(__version__).set(1)
    metrics.CONNECTIONS_LIMIT.set(settings.max_connections)
    metrics.READY.set_function(lambda: canary.ready and not draining())
    show_use(pool, processes)
    return app


def make_batcher(settings: Settings, backend: Backend) -> Batcher:
    """One for a backend, as the settings ask for."""
    return Batcher(backend, BatchLimits(settings.max_chunk_pixels, settings.recognition_calls))


def make_pipeline(
    settings: Settings, backend: Backend, batcher: Batcher, pool: CpuPool, decoders: Decoders
) -> OcrPipeline:
    """What reads by the models of a backend."""
    detector = Detector(backend, calls_in_flight=settings.detection_calls)
    return OcrPipeline(backend, detector, LineReader(backend, batcher, pool), pool, decoders)


def make_candidates(settings: Settings, backend: Backend, pool: CpuPool, decoders: Decoders) -> Candidates:
    """Who looks for a candidate; only Tritons have one beside what serves."""

    def connect() -> Candidate:
        beside = triton_backend(settings, prefix=CANDIDATE, label="candidate")
        return Candidate(beside, make_pipeline(settings, beside, make_batcher(settings, beside), pool, decoders))

    find_share = backend.candidate_share if isinstance(backend, TritonBackend) else no_candidate
    return Candidates(find_share, connect, interval_s=CANDIDATE_INTERVAL_S)


def make_offer(candidates: Candidates, serving: PageReader) -> Offer | None:
    """What requests are told of the candidate, if there is one."""
    candidate = candidates.current
    if candidate is None:
        return None
    reader, backend = candidate.reader, candidate.backend
    return Offer(candidate.share, reader, FallingBack(reader, serving), lambda: ServedModels.of(backend.contract))


def make_tracer(settings: Settings) -> Tracer | None:
    """Where traces go, if the settings ask for them.

    Raises:
        SettingsError: they do, and the extra is not installed.
    """
    if not settings.traces:
        return None
    try:
        from gateway.otel import OtelTracer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise SettingsError("OCR_TRACES needs the extra otel: pip install 'ocr-gateway[otel]'") from error
    return OtelTracer()


def show_use(pool: CpuPool, processes: DecoderPool | None) -> None:
    """Let the instruments read how busy threads and processes are when they are asked."""
    metrics.POOL_THREADS.set(pool.threads)
    metrics.POOL_JOBS.set_function(lambda: pool.busy)
    if processes:
        metrics.DECODERS.set(processes.most)
        metrics.DECODERS_BUSY.set_function(lambda: processes.busy)


def make_decoder_pool(settings: Settings) -> DecoderPool | None:
    """Processes for decoding, as the settings ask for; only Linux has what they need."""
    if sys.platform != "linux":
        return None
    count = settings.decoder_processes or os.cpu_count() or 1
    return DecoderPool(ProcessLimits(count, settings.decoder_memory_bytes, settings.decoder_timeout_s))


def make_admission(settings: Settings, door: Door) -> Admission:
    """Admission as the settings ask for."""
    limits = GateLimits(
        slots=settings.max_requests or SLOTS_PER_CALL * settings.recognition_calls,
        waiting=settings.max_waiting,
        wait_s=settings.max_wait_s,
        pixels=settings.max_pixels_under_way,
        parked_bytes=settings.max_slow_upload_bytes,
    )
    return Admission(door, Gate(limits), Clients(settings.api_keys))
