"""What the metrics of Triton and of a gateway show when they are looked at twice."""

from collections.abc import Sequence

from gateway.doctor.findings import Verdict, fine, unknown, warning
from gateway.doctor.pages import Looks

MANY_WAITING = 8
"""Requests that wait for one model; a gateway has no more than a few calls under way at once."""
SOME_REQUESTS = 10
"""Fewer between two looks may be the doctor's own."""
SLOW_QUEUE_S = 0.1
"""Mean wait in Triton's queue beside which computing is no more what takes the time."""
NEARLY_FULL = 0.95
BUSY = 0.97
MEMORY_GROWS = 0.02
"""Of all GPU memory, between two looks; models that have warmed up take no more."""
LEAK_BYTES = 1e6
"""Growth over 1,000 requests from which the alert OcrPythonBackendLeaks counts."""
LEAKING = ("private", "torch_allocated")
POOR_BATCH_ROWS = 1.5
PADDING_WASTE = 0.6
SOME_CHUNKS = 20
"""Fewer calls say nothing about batches."""
LATE_S = 0.05

QUEUE = "see OcrTritonQueue in the runbook: other clients, too many gateways, or a model that has become slow"


def judge_queue(looks: Looks) -> Sequence[Verdict]:
    """Whether more comes than Triton can do."""
    verdicts: list[Verdict] = []
    for model in looks.values("nv_inference_pending_request_count", "model"):
        waiting = looks.now("nv_inference_pending_request_count", model=model)
        more = looks.growth("nv_inference_pending_request_count", model=model)
        if waiting >= MANY_WAITING and more >= 0:
            what = f"{waiting:.0f} requests wait for {model}, {more:.0f} more than {looks.seconds:g} s before"
            verdicts += warning(what, QUEUE)
    return verdicts or _judge_waits(looks)


def _judge_waits(looks: Looks) -> Sequence[Verdict]:
    verdicts: list[Verdict] = []
    for model in looks.values("nv_inference_queue_duration_us_total", "model"):
        waited_us = looks.growth("nv_inference_queue_duration_us_total", model=model)
        took_us = looks.growth("nv_inference_request_duration_us_total", model=model)
        requests = looks.growth("nv_inference_request_success_total", model=model)
        if requests >= SOME_REQUESTS and waited_us > took_us / 2 and waited_us / requests > SLOW_QUEUE_S * 1e6:
            verdicts += warning(f"requests of {model} wait {waited_us / requests / 1e3:.0f} ms in Triton", QUEUE)
    return verdicts or fine("nothing piles up")


def judge_failures(looks: Looks) -> Sequence[Verdict]:
    """Whether calls fail now."""
    verdicts: list[Verdict] = []
    for model in looks.values("nv_inference_request_failure_total", "model"):
        for reason in looks.values("nv_inference_request_failure_total", "reason"):
            failed = looks.growth("nv_inference_request_failure_total", model=model, reason=reason)
            if failed > 0 and reason != "CANCELED":
                what = f"{failed:.0f} calls of {model} failed within {looks.seconds:g} s ({reason})"
                verdicts += warning(what, "look into Triton's log (--triton-log), and at triton-inference")
    return verdicts or fine("no call fails now")


def judge_gpu(looks: Looks) -> Sequence[Verdict]:
    """Whether a GPU's memory is full or growing, and whether it has time left."""
    if not looks.has("nv_gpu_memory_total_bytes"):
        return fine("no GPU metrics: there is no GPU, or --allow-gpu-metrics=false")
    verdicts: list[Verdict] = []
    for gpu in looks.values("nv_gpu_memory_total_bytes", "gpu_uuid"):
        verdicts += _judge_gpu(looks, gpu)
    return verdicts or fine(f"{len(looks.values('nv_gpu_memory_total_bytes', 'gpu_uuid'))} GPUs have room and time")


def _judge_gpu(looks: Looks, gpu: str) -> Sequence[Verdict]:
    total = looks.now("nv_gpu_memory_total_bytes", gpu_uuid=gpu)
    used = looks.now("nv_gpu_memory_used_bytes", gpu_uuid=gpu)
    grown = looks.growth("nv_gpu_memory_used_bytes", gpu_uuid=gpu)
    busy = looks.now("nv_gpu_utilization", gpu_uuid=gpu)
    verdicts: list[Verdict] = []
    if total and used / total > NEARLY_FULL:
        do = "fewer instances or models, a gpu_mem_limit, or a larger card; see who else is in nvidia-smi"
        verdicts += warning(f"{used / total:.0%} of the memory of {gpu} is used", do)
    if total and grown / total > MEMORY_GROWS:
        do = "new shapes grow ONNX Runtime's arena, which never shrinks: see Out of memory (operations)"
        verdicts += warning(f"memory of {gpu} grew by {grown / 1e6:.0f} MB within {looks.seconds:g} s", do)
    if busy > BUSY:
        verdicts += warning(f"{gpu} is {busy:.0%} busy", "see who else is in nvidia-smi; else add a GPU (scaling)")
    return verdicts


def judge_memory(looks: Looks) -> Sequence[Verdict]:
    """Whether the machine or Triton's pool of pinned memory is nearly full."""
    verdicts: list[Verdict] = []
    for kind, what in (("cpu_memory", "the machine's memory"), ("pinned_memory_pool", "Triton's pinned memory")):
        total, used = looks.now(f"nv_{kind}_total_bytes"), looks.now(f"nv_{kind}_used_bytes")
        if total and used / total > NEARLY_FULL:
            do = "give it more (--pinned-memory-pool-byte-size for the pool), or fewer instances of models"
            verdicts += warning(f"{used / total:.0%} of {what} is used", do)
    return verdicts or fine("there is memory left")


def judge_leaks(looks: Looks) -> Sequence[Verdict]:
    """Whether a Python backend whose memory is watched keeps some of every request."""
    name = "python_backend_memory_growth_bytes_per_1000_requests"
    if not looks.has(name):
        return fine("no model's memory is watched")
    verdicts: list[Verdict] = []
    for instance in looks.values(name, "model_instance"):
        for memory in LEAKING:
            growth = looks.now(name, model_instance=instance, memory=memory)
            if growth > LEAK_BYTES:
                what = f"{instance} keeps {growth / 1e6:.1f} MB of 1,000 requests ({memory})"
                verdicts += warning(what, "see OcrPythonBackendLeaks in the runbook")
    return verdicts or fine("no model keeps memory of requests")


def judge_load(looks: Looks) -> Sequence[Verdict]:
    """Whether a gateway refuses requests, or comes late to what it does."""
    verdicts: list[Verdict] = []
    for reason in ("waited", "line_full", "slow_uploads", "backend_unavailable"):
        refused = looks.growth("ocr_admission_refused_total", reason=reason)
        if refused > 0:
            do = "add instances, or see Too many requests (operations)"
            verdicts += warning(f"{refused:.0f} requests were refused within {looks.seconds:g} s ({reason})", do)
    lags = looks.growth("ocr_event_loop_lag_seconds_count")
    late_s = looks.growth("ocr_event_loop_lag_seconds_sum") / lags if lags else 0.0
    if late_s > LATE_S:
        verdicts += warning(f"its event loop is {late_s * 1e3:.0f} ms late", "see OcrEventLoopLag in the runbook")
    return verdicts or fine("it takes what comes")


def judge_batches(looks: Looks) -> Sequence[Verdict]:
    """Whether lines share calls under load, and how much of a call is padding."""
    chunks, rows = looks.now("ocr_chunk_rows_count"), looks.now("ocr_chunk_rows_sum")
    if chunks < SOME_CHUNKS:
        return fine(f"{chunks:.0f} recognition calls so far say nothing about batches")
    mean_rows, waiting = rows / chunks, looks.now("ocr_batcher_queued_rows")
    lines, padded = looks.now("ocr_line_pixels_total"), looks.now("ocr_padded_pixels_total")
    verdicts: list[Verdict] = []
    if mean_rows < POOR_BATCH_ROWS and waiting > 0:
        do = "raise OCR_MAX_CHUNK_PIXELS if memory allows, or see whether models take one row only (docs/models.md)"
        verdicts += warning(f"a call carries {mean_rows:.1f} lines while {waiting:.0f} lines wait", do)
    if padded and 1 - lines / padded > PADDING_WASTE:
        do = "the buckets do not fit the lines: build the models with others (docs/models.md)"
        verdicts += warning(f"{1 - lines / padded:.0%} of what is recognised is padding", do)
    return verdicts or fine(f"{mean_rows:.1f} lines a call")


def judge_splits(looks: Looks) -> Sequence[Verdict]:
    """Whether calls run out of memory."""
    now, so_far = looks.growth("ocr_oom_splits_total"), looks.now("ocr_oom_splits_total")
    do = "see Out of memory (operations): give Triton more, or lower OCR_MAX_CHUNK_PIXELS"
    if now > 0:
        return warning(f"{now:.0f} calls ran out of memory within {looks.seconds:g} s", do)
    if looks.has("ocr_row_limit"):
        return warning(f"memory is short: {so_far:.0f} calls ran out of it since the start", do)
    return fine("no call ran out of memory")


def judge_files(looks: Looks) -> Sequence[Verdict]:
    """Whether a gateway has files left to open; a connection is one."""
    most, used = looks.now("process_max_fds"), looks.now("process_open_fds")
    if not most:
        return unknown("it does not say how many files it may open", "look at /proc/PID/limits")
    connections = looks.now("ocr_connections_limit")
    do = "raise LimitNOFILE= above OCR_MAX_CONNECTIONS and a few hundred more"
    if used / most > 0.8:
        return warning(f"{used:.0f} of {most:.0f} files are open", do)
    if connections >= most:
        return warning(f"it may open {most:.0f} files, but take {connections:.0f} connections", do)
    return fine(f"{used:.0f} of {most:.0f} files are open")
