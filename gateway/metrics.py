"""Every Prometheus instrument of the gateway, and the timer that gives a request its stage times.

Names follow Prometheus: base units, `_total` for counters. Labels are bounded: no ids, no texts.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client import Counter, Gauge, Histogram

from gateway.errors import OcrError
from gateway.tracing import Trace, spanned

LATENCY_BUCKETS_S = (
    0.005,
    0.01,
    0.025,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.3,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    30,
    60,
)
"""OpenTelemetry's list for HTTP, with the target's 200 ms as an edge and a longer tail for CPU machines."""

ROWS_BUCKETS = (1, 2, 4, 8, 16, 32, 64)
PIXELS_BUCKETS = (100_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 50_000_000)
LAG_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
HEARTBEAT_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)

BUILD = Gauge("ocr_build_info", "1; the version of the gateway is a label.", ("version",))
READY = Gauge("ocr_ready", "1 while /readyz says yes.")
LOOP_LAG_SECONDS = Histogram(
    "ocr_event_loop_lag_seconds",
    "How much later than it should the event loop got round to a task, asked ten times a second.",
    buckets=LAG_BUCKETS_S,
)
POOL_THREADS = Gauge("ocr_cpu_pool_threads", "Threads that decode and compute.")
POOL_JOBS = Gauge("ocr_cpu_pool_jobs", "Pieces of work that they do, or that wait for one of them.")
LOG_LINES = Counter("ocr_log_lines_total", "Lines logged, by severity.", ("level",))
LOG_LINES_LOST = Counter(
    "ocr_log_lines_lost_total",
    "Lines that are not in the log: repeats held back, no room in the queue, or not written (disk full).",
    ("reason",),
)

REQUESTS = Counter("ocr_http_requests_total", "Requests answered.", ("route", "method", "status"))
REQUEST_SECONDS = Histogram(
    "ocr_http_request_duration_seconds",
    "From the first byte of a request to the last of its answer.",
    ("route",),
    buckets=LATENCY_BUCKETS_S,
)
REQUEST_BYTES = Counter("ocr_http_request_body_bytes_total", "Bytes of bodies received.", ("route",))
RESPONSE_BYTES = Counter("ocr_http_response_body_bytes_total", "Bytes of bodies sent.", ("route",))
REQUESTS_IN_FLIGHT = Gauge("ocr_http_requests_in_flight", "Requests being answered.")
ERRORS = Counter("ocr_errors_total", "Problem documents sent, by code.", ("code",))
STAGE_SECONDS = Histogram(
    "ocr_stage_duration_seconds", "Time a request spent in a stage.", ("stage",), buckets=LATENCY_BUCKETS_S
)
CONNECTIONS = Gauge("ocr_connections", "Connections of clients, also those that are about to end.")
CONNECTIONS_LIMIT = Gauge("ocr_connections_limit", "Connections that may be open at once.")
CONNECTIONS_REFUSED = Counter(
    "ocr_connections_refused_total", "Connections ended before there was a request, by the problem sent.", ("code",)
)
ADMITTED = Counter("ocr_admission_admitted_total", "Requests taken, by priority.", ("priority",))
REFUSED = Counter("ocr_admission_refused_total", "Requests refused before they were worked on, by reason.", ("reason",))
WAITING = Gauge(
    "ocr_admission_waiting",
    "Requests that wait for room: in line by priority, or settling after the upload.",
    ("line",),
)
SLOTS = Gauge("ocr_admission_slots", "Requests that may be under way at once, at the present pace.")
SLOTS_IN_USE = Gauge("ocr_admission_slots_in_use", "Requests under way.")
PIXELS_IN_USE = Gauge("ocr_admission_pixels_in_use", "Pixels of the images under way, partly guessed.")
PIXELS_LIMIT = Gauge("ocr_admission_pixels_limit", "Pixels that may be under way at once.")
UPLOADS_PARKED = Gauge("ocr_admission_parked_uploads", "Slow uploads, which hold no slot.")
PARKED_BYTES = Gauge("ocr_admission_parked_bytes", "Bytes that slow uploads hold.")
DECODERS = Gauge("ocr_decoders", "Decoder processes that may work at once.")
DECODERS_BUSY = Gauge("ocr_decoders_busy", "Decoder processes that work.")
DECODERS_LOST = Counter(
    "ocr_decoders_lost_total",
    "Decoder processes that died, were too slow, or whose request ended.",
    ("reason",),
)
PAGES = Counter("ocr_pages_total", "Pages sent.")
PAGES_FAILED = Counter(
    "ocr_pages_failed_total", "Pages and files that were not read, although others of their request were.", ("code",)
)
PAGE_PIXELS = Histogram("ocr_page_pixels", "Pixels of each page sent.", buckets=PIXELS_BUCKETS)
LINES = Counter("ocr_lines_total", "Lines returned.")
WARNINGS = Counter("ocr_warnings_total", "Warnings given with pages.", ("code",))

CALLS = Counter("ocr_backend_calls_total", "Calls to the inference server by outcome.", ("model", "outcome"))
CALL_SECONDS = Histogram(
    "ocr_backend_call_duration_seconds",
    "Time of a call to the inference server.",
    ("model",),
    buckets=LATENCY_BUCKETS_S,
)
CALLS_IN_FLIGHT = Gauge("ocr_backend_calls_in_flight", "Calls to the inference server under way.", ("model",))
ENDPOINT_STATE = Gauge(
    "ocr_endpoint_state",
    "1 for the state that an inference server is in; it takes calls when serving.",
    ("endpoint", "state"),
)
ENDPOINT_CALLS = Counter(
    "ocr_endpoint_calls_total", "Calls to one inference server, retries included.", ("endpoint", "outcome")
)
ENDPOINT_CALLS_IN_FLIGHT = Gauge("ocr_endpoint_calls_in_flight", "Calls to one server under way.", ("endpoint",))
ENDPOINT_PROBES = Counter("ocr_endpoint_probes_total", "Tiny inferences that test one server.", ("endpoint", "outcome"))
ENDPOINT_HEARTBEAT_SECONDS = Histogram(
    "ocr_endpoint_heartbeat_seconds",
    "Time until one server answered a question that takes no model: network, and its patience.",
    ("endpoint",),
    buckets=HEARTBEAT_BUCKETS_S,
)
ENDPOINT_MODEL = Gauge(
    "ocr_endpoint_model_info", "1 for each model and version that one server serves.", ("endpoint", "model", "version")
)
ENDPOINT_METRICS = (
    ENDPOINT_STATE,
    ENDPOINT_CALLS,
    ENDPOINT_CALLS_IN_FLIGHT,
    ENDPOINT_PROBES,
    ENDPOINT_HEARTBEAT_SECONDS,
    ENDPOINT_MODEL,
)
"""What there is for each server, and is forgotten with it: addresses come and go."""

RETRIES = Counter("ocr_backend_retries_total", "Calls tried again on another server, by what failed.", ("code",))
WIRE_BYTES = Counter(
    "ocr_backend_wire_bytes_total",
    "Size of the messages sent to the inference server, and of the tensors that it answers.",
    ("model", "direction"),
)
DETECTION_WAIT_SECONDS = Histogram(
    "ocr_detection_wait_seconds", "Time a page waited for its detection call.", buckets=LATENCY_BUCKETS_S
)
CHUNK_ROWS = Histogram(
    "ocr_chunk_rows",
    "Lines in one recognition call, without rows added to reach a fixed count.",
    buckets=ROWS_BUCKETS,
)
CHUNKS = Counter("ocr_chunks_total", "Recognition calls by bucket width.", ("bucket",))
LINE_PIXELS = Counter("ocr_line_pixels_total", "Pixels of lines sent to recognition.")
PADDED_PIXELS = Counter(
    "ocr_padded_pixels_total", "Pixels sent to recognition, with padding; 1 - line/padded is the waste."
)
ROWS_QUEUED = Gauge("ocr_batcher_queued_rows", "Lines that wait for a recognition call.")
QUEUE_SECONDS = Histogram(
    "ocr_batcher_wait_seconds", "Time a line waited for its recognition call.", buckets=LATENCY_BUCKETS_S
)
ROWS_DROPPED = Counter("ocr_batcher_dropped_rows_total", "Lines dropped before sending: their request had ended.")
OOM_SPLITS = Counter(
    "ocr_oom_splits_total", "Recognition calls that ran out of memory and were cut into smaller ones.", ("bucket",)
)
ROW_LIMIT = Gauge(
    "ocr_row_limit", "Rows of a recognition call that fit into memory, as learnt since it first ran out.", ("bucket",)
)
LINES_UNREAD = Counter("ocr_lines_unread_total", "Lines given without text, which partial=true allows.", ("code",))
CALLS_CANCELLED = Counter("ocr_backend_calls_cancelled_total", "Calls cancelled: nobody waited for them any more.")
RELEASE_REQUESTS = Counter(
    "ocr_release_requests_total",
    "Requests by the models that were to read them, serving or candidate, and how they ended: ok or the problem.",
    ("release", "outcome"),
)
RELEASE_LINES = Counter("ocr_release_lines_total", "Lines read, by the models that were to read them.", ("release",))
RELEASE_SCORES = Counter(
    "ocr_release_line_scores_total",
    "Sum of the scores of these lines; divided by their number, the mean.",
    ("release",),
)
CANDIDATE_SHARE = Gauge("ocr_candidate_share", "Per cent of the requests that a candidate reads; -1 if there is none.")
CANDIDATE_FALLBACKS = Counter(
    "ocr_candidate_fallbacks_total",
    "Pages that the candidate failed to read, and the models that serve did.",
    ("code",),
)
DRAINING = Gauge("ocr_draining", "1 once the service is about to stop.")
CANARY_OK = Gauge("ocr_canary_ok", "1 if the known picture was read correctly at the last try.")
CANARY_SECONDS = Histogram("ocr_canary_duration_seconds", "Time to read the known picture.", buckets=LATENCY_BUCKETS_S)


@dataclass(slots=True)
class Sent:
    """What one request had the models do.

    Attributes:
        chunks: recognition calls that carried lines of it, also those that failed.
        trace: where its spans go, if it is traced.
    """

    chunks: int = 0
    trace: Trace | None = None


@dataclass(slots=True)
class StageTimes:
    """How long one request spent in each stage, in the order in which the stages were first met."""

    seconds: dict[str, float] = field(default_factory=dict)
    sent: Sent = field(default_factory=Sent)

    def within(self) -> "StageTimes":
        """Times of what happens within a stage: no stages of the request, but its chunks are."""
        return StageTimes(sent=self.sent)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, and name it in errors that come out of it. A stage that is met again adds up."""
        started = time.perf_counter()
        try:
            with spanned(self.sent.trace, name):
                yield
        except OcrError as error:
            error.stage = error.stage or name
            raise
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def observe(self) -> None:
        """Count every stage once in its histogram."""
        for name, seconds in self.seconds.items():
            STAGE_SECONDS.labels(name).observe(seconds)

    def milliseconds(self) -> dict[str, float]:
        """The time spent in each stage, for answers."""
        return {name: round(1000 * seconds, 1) for name, seconds in self.seconds.items()}

    def server_timing(self) -> str:
        """The value of a Server-Timing header (W3C), milliseconds."""
        return ", ".join(f"{name};dur={milliseconds:.1f}" for name, milliseconds in self.milliseconds().items())


def count_page(pixels: int, lines: int, warnings: Iterable[str]) -> None:
    """Count a page that was sent, with the codes of its warnings."""
    PAGES.inc()
    PAGE_PIXELS.observe(pixels)
    LINES.inc(lines)
    for code in warnings:
        WARNINGS.labels(code).inc()


def count_scores(release: str, scores: Collection[float]) -> None:
    """Count lines with their scores, 0 to 1, for the models that were to read them."""
    RELEASE_LINES.labels(release).inc(len(scores))
    RELEASE_SCORES.labels(release).inc(sum(scores))


def count_failed_page(code: str) -> None:
    """Count a page that is an error in the answer."""
    PAGES_FAILED.labels(code).inc()


def count_unread(codes: Iterable[str]) -> None:
    """Count lines that are given without text, with the codes of what kept them from being read."""
    for code in codes:
        LINES_UNREAD.labels(code).inc()


@contextmanager
def outcome_counted(count: Callable[[str], None]) -> Iterator[None]:
    """Tell `count` how a call ended: "ok", "cancelled", the code of an error of ours, or "internal"."""
    outcome = OcrError.code
    try:
        yield
        outcome = "ok"
    except OcrError as error:
        outcome = error.code
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        count(outcome)
