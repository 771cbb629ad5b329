"""A service that does ten pages a second: calm, busy, and asked for more than that."""

from loadtest.capacity.campaign import MixResult
from loadtest.capacity.samples import Sample, Step
from loadtest.capacity.steps import StepResult, summarize
from loadtest.capacity.usage import Place, Reading, Usage, usage

STAGES = {"decode": 5.0, "detect": 20.0}
CORES = 2


def sample(due_at: float, seconds: float, status: int = 200, code: str = "") -> Sample:
    return Sample("receipts", due_at, seconds, status, code, STAGES if status == 200 else {})


def calm() -> StepResult:
    """5/s, 100 ms each."""
    return summarize(Step(5.0, 0.0, 10.0), [sample(number / 5, 0.1) for number in range(50)])


def busy() -> StepResult:
    """9/s; 120 ms, of ten pages one takes 300."""
    return summarize(Step(9.0, 0.0, 10.0), [sample(n / 9, 0.12 if n % 10 else 0.3) for n in range(90)])


def overrun() -> StepResult:
    """20/s, answered one after the other every 100 ms."""
    return summarize(Step(20.0, 0.0, 10.0), [sample(n / 20, 0.1 * (n + 1) - n / 20) for n in range(200)])


def reading(at: float, *, busy_cores: float, jobs: float = 0.0) -> Reading:
    """After so many seconds of a load that was the same all the time."""
    gateway = {
        ("process_cpu_seconds_total", ""): 0.3 * at,
        ("ocr_event_loop_lag_seconds_sum", ""): 0.02 * at,
        ("ocr_event_loop_lag_seconds_count", ""): 10 * at,
        ("ocr_cpu_pool_jobs", ""): jobs,
        ("ocr_cpu_pool_threads", ""): 2.0,
        ("ocr_admission_slots_in_use", ""): 3.0,
        ("ocr_admission_slots", ""): 12.0,
        ("ocr_detection_wait_seconds_sum", ""): 0.5 * at,
        ("ocr_detection_wait_seconds_count", ""): 5 * at,
    }
    triton = {
        # Each run has two requests, and is counted for both.
        ("nv_inference_request_success", "reader"): 10 * at,
        ("nv_inference_exec_count", "reader"): 5 * at,
        ("nv_inference_compute_infer_duration_us", "reader"): 800_000 * at,
        ("nv_inference_queue_duration_us", "reader"): 20_000 * at,
    }
    processors = {"processors": busy_cores * at, "gateway": 0.4 * at, "Triton": 0.9 * at}
    return Reading(at, gateway, triton, processors)


def used(busy_cores: float, jobs: float = 0.0) -> Usage:
    readings = [reading(float(at), busy_cores=busy_cores, jobs=jobs) for at in range(1, 5)]
    return usage(readings, Place(CORES, {"reader": 1}))


def receipts() -> MixResult:
    return MixResult("receipts", 6, 90.0, (calm(), busy(), overrun()), (used(1.4), used(1.9), used(2.0, jobs=3.0)))
