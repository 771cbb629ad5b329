"""What two looks at metrics are taken for, on pages as Triton and the gateway write them."""

import re

import pytest

from gateway.doctor import counters
from gateway.doctor.findings import Severity
from gateway.doctor.pages import Looks, parse
from tests.ops.alerts import FOLDER


def looks(before, after=None):
    return Looks(parse(page(before)), parse(page(before if after is None else after)), 2.0)


def page(samples):
    """A page of metrics with such samples, each by its name and labels as they are written."""
    return "".join(f"{name} {value}\n" for name, value in samples.items())


def told(verdicts):
    return [one.what for one in verdicts if one.severity is not Severity.OK]


PENDING = 'nv_inference_pending_request_count{model="m",version="1"}'
SUCCESS = 'nv_inference_request_success_total{model="m",version="1"}'
QUEUE = 'nv_inference_queue_duration_us_total{model="m",version="1"}'
REQUEST = 'nv_inference_request_duration_us_total{model="m",version="1"}'


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, []),
        ({PENDING: 3}, {PENDING: 7}, []),
        ({PENDING: 30}, {PENDING: 12}, []),
        ({PENDING: 9}, {PENDING: 12}, ["12 requests wait for m, 3 more than 2 s before"]),
        (
            {SUCCESS: 100, QUEUE: 0, REQUEST: 0},
            {SUCCESS: 120, QUEUE: 20 * 300_000, REQUEST: 20 * 400_000},
            ["requests of m wait 300 ms in Triton"],
        ),
        ({SUCCESS: 100, QUEUE: 0, REQUEST: 0}, {SUCCESS: 120, QUEUE: 20 * 300_000, REQUEST: 20 * 900_000}, []),
        ({SUCCESS: 100, QUEUE: 0, REQUEST: 0}, {SUCCESS: 104, QUEUE: 4 * 300_000, REQUEST: 4 * 400_000}, []),
    ],
)
def test_a_queue(before, after, expected):
    assert told(counters.judge_queue(looks(before, after))) == expected


def failures(reason):
    return f'nv_inference_request_failure_total{{model="m",reason="{reason}",version="1"}}'


def test_failures_count_if_they_are_new_and_nobody_cancelled():
    before = {failures(reason): 5 for reason in ("BACKEND", "CANCELED", "OTHER")}
    after = {**before, failures("CANCELED"): 9, failures("OTHER"): 7}
    assert told(counters.judge_failures(looks(before, after))) == ["2 calls of m failed within 2 s (OTHER)"]


def gpu(used, busy):
    return {
        'nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"}': 40e9,
        'nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"}': used,
        'nv_gpu_utilization{gpu_uuid="GPU-1"}': busy,
    }


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (gpu(20e9, 0.5), gpu(20.1e9, 0.6), []),
        (gpu(39e9, 0.5), gpu(39e9, 0.6), ["98% of the memory of GPU-1 is used"]),
        (gpu(20e9, 0.5), gpu(22e9, 0.6), ["memory of GPU-1 grew by 2000 MB within 2 s"]),
        (gpu(20e9, 0.5), gpu(20e9, 1.0), ["GPU-1 is 100% busy"]),
    ],
)
def test_a_gpu(before, after, expected):
    assert told(counters.judge_gpu(looks(before, after))) == expected


def test_without_a_gpu_that_is_said_and_no_finding():
    (verdict,) = counters.judge_gpu(looks({}))
    assert (verdict.severity, verdict.what[:14]) == (Severity.OK, "no GPU metrics")


def growth(instance, memory, size):
    labels = f'model="m",model_instance="{instance}",memory="{memory}",version="1"'
    return {f"python_backend_memory_growth_bytes_per_1000_requests{{{labels}}}": size}


def test_a_model_that_keeps_memory_as_the_alert_counts_it():
    samples = {**growth("m_0", "private", 2e6), **growth("m_1", "private", 9e5), **growth("m_1", "shared", 5e6)}
    assert told(counters.judge_leaks(looks(samples))) == ["m_0 keeps 2.0 MB of 1,000 requests (private)"]
    rules = (FOLDER / "rules" / "faults.yml").read_text()
    threshold = re.search(r"python_backend_memory_growth_bytes_per_1000_requests{.*}\[1h\]\) > (\S+)", rules)
    assert float(threshold[1]) == counters.LEAK_BYTES


def test_memory_that_is_nearly_full():
    full = {"nv_cpu_memory_total_bytes": 100, "nv_cpu_memory_used_bytes": 97, "nv_pinned_memory_pool_total_bytes": 100}
    assert told(counters.judge_memory(looks(full))) == ["97% of the machine's memory is used"]


def test_requests_that_are_refused_and_a_late_event_loop():
    before = {
        'ocr_admission_refused_total{reason="waited"}': 1,
        "ocr_event_loop_lag_seconds_count": 0,
        "ocr_event_loop_lag_seconds_sum": 0,
    }
    after = {
        'ocr_admission_refused_total{reason="waited"}': 5,
        "ocr_event_loop_lag_seconds_count": 10,
        "ocr_event_loop_lag_seconds_sum": 2,
    }
    assert told(counters.judge_load(looks(before, before))) == []
    assert told(counters.judge_load(looks(before, after))) == [
        "4 requests were refused within 2 s (waited)",
        "its event loop is 200 ms late",
    ]


def batches(rows, *, waiting, padded):
    return {
        "ocr_chunk_rows_count": 100,
        "ocr_chunk_rows_sum": 100 * rows,
        "ocr_batcher_queued_rows": waiting,
        "ocr_line_pixels_total": 1000,
        "ocr_padded_pixels_total": padded,
    }


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (batches(8, waiting=3, padded=1200), []),
        (batches(1, waiting=0, padded=1200), []),
        (batches(1, waiting=3, padded=1200), ["a call carries 1.0 lines while 3 lines wait"]),
        (batches(8, waiting=0, padded=4000), ["75% of what is recognised is padding"]),
        ({"ocr_chunk_rows_count": 3, "ocr_chunk_rows_sum": 3, "ocr_batcher_queued_rows": 9}, []),
    ],
)
def test_batches_and_padding(samples, expected):
    assert told(counters.judge_batches(looks(samples))) == expected


def test_calls_that_run_out_of_memory():
    some, more = ({'ocr_oom_splits_total{bucket="320"}': count} for count in (2, 5))
    limited = {**some, 'ocr_row_limit{bucket="320"}': 4}
    assert told(counters.judge_splits(looks(some))) == []
    assert told(counters.judge_splits(looks(some, more))) == ["3 calls ran out of memory within 2 s"]
    assert told(counters.judge_splits(looks(limited))) == [
        "memory is short: 2 calls ran out of it since the start",
    ]


@pytest.mark.parametrize(
    ("used", "most", "expected"),
    [
        (100, 20_000, []),
        (17_000, 20_000, ["17000 of 20000 files are open"]),
        (100, 512, ["it may open 512 files, but take 1000 connections"]),
    ],
)
def test_files(used, most, expected):
    samples = {"process_open_fds": used, "process_max_fds": most, "ocr_connections_limit": 1000}
    assert told(counters.judge_files(looks(samples))) == expected
