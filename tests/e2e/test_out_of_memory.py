"""A recogniser that runs out of memory by size, with ONNX Runtime's own words, behind a real tritonserver."""

import asyncio
import math
import shutil
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path

import httpx
import pytest
from gateways import ONLY_REQUESTS, assert_same_answer, connected, pipeline_on, running_gateway
from rendered_pages import lines_of_words, page, png, receipt, small_page, wide_line
from served_models import EDITED, FEW_SHAPES, HOME, SHAPED
from triton_metrics import samples_at, total_at, triton_requests
from wrapped_backends import Watched

from gateway.errors import OutOfMemory
from gateway.inference.row_limits import TRIAL_INTERVAL_S
from tests.drills.repositories import (
    DETECTION,
    RECOGNITION,
    DrillRepository,
    build_models,
    with_faulty_backend,
)
from triton_models.layouts import CHUNK_AREA
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CHANNELS = 3
HALF_A_CHUNK_BYTES = CHUNK_AREA * CHANNELS // 2
BELOW_A_WIDE_ROW_BYTES = 48 * 960 * CHANNELS - 1
ARENA_BYTES = 50_000_000
"""In which the tiny recogniser reads a few rows of 320 pixels, but no whole chunk; 80,000,000 hold 16 rows, not 24."""

LIMITED_ARENA_BACKEND = Path(__file__).with_name("limited_arena_backend.py")
CALLS_IN_FLIGHT = 2
CLIENTS = 32
PAGES = [
    png(receipt()),
    *(png(page(lines_of_words(24, first=number), width=640, height=880, step=35)) for number in (50, 100, 150)),
    *(png(small_page(number)) for number in range(4)),
]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    return DrillRepository(build_models(HOME), tmp_path_factory.mktemp("models") / "models")


@pytest.fixture(scope="module")
def server(triton_runtime, repository, tmp_path_factory):
    """A server whose models can be made to run out of memory."""
    folder = tmp_path_factory.mktemp("faulty")
    with TritonProcess(
        with_faulty_backend(triton_runtime, folder / "backends"),
        repository.root,
        log_file=folder / "triton.log",
        ports=Ports.free(),
    ) as process:
        yield process


@pytest.fixture
def models(server, repository):
    """The server's models, which are mended after the test."""
    yield repository
    for model in (DETECTION, RECOGNITION):
        repository.mend(model)


@pytest.fixture
def gateway(server):
    """A gateway that has not learnt anything yet."""
    with running_gateway(server.grpc_address, **ONLY_REQUESTS) as url:
        yield url


def client_of(url):
    return httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=httpx.Limits(max_connections=CLIENTS))


def ask(client, data, **options):
    return client.post("/v1/ocr", params={"timeout": 120, "min_side": 0, **options}, content=data)


async def read(client, data):
    answer = await ask(client, data)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def read_all(client):
    return await asyncio.gather(*(read(client, data) for data in islice(cycle(PAGES), CLIENTS)))


def calls_of(gateway, model, **labels):
    return total_at(f"{gateway}/metrics", "ocr_backend_calls_total", model=model, **labels)


async def test_every_request_succeeds_with_the_same_text_when_half_a_chunk_fits(server, models, gateway, measured):
    async with client_of(gateway) as client:
        expected = [await read(client, data) for data in PAGES]
        calls, at_triton = calls_of(gateway, RECOGNITION), triton_requests(server, RECOGNITION)
        models.spoil(RECOGNITION, memory_bytes=HALF_A_CHUNK_BYTES)
        failed, started = [0], time.monotonic()
        for _ in range(2):
            for answer, alone in zip(await read_all(client), cycle(expected), strict=False):
                assert_same_answer(answer, alone)
            failed.append(calls_of(gateway, RECOGNITION, outcome="out_of_memory"))
    limits = {int(bucket): rows for ((_, bucket),), rows in samples_at(f"{gateway}/metrics", "ocr_row_limit").items()}
    calls = calls_of(gateway, RECOGNITION) - calls
    measured(
        f"half a chunk fits: all of {2 * CLIENTS} requests read; of {calls:.0f} calls {failed[2]:.0f} ran out of "
        f"memory, {failed[2] - failed[1]:.0f} of them in the second half; learnt rows: {limits}"
    )
    trials = (time.monotonic() - started) // TRIAL_INTERVAL_S
    assert 0 < failed[2] <= (CALLS_IN_FLIGHT + trials) * len(limits)
    assert total_at(f"{gateway}/metrics", "ocr_oom_splits_total") == failed[2]
    assert triton_requests(server, RECOGNITION) - at_triton == calls
    assert all(rows * bucket <= CHUNK_AREA / 48 / 2 for bucket, rows in limits.items())


class Recording(Watched):
    """Counts how often every row is sent."""

    def __init__(self, backend):
        super().__init__(backend)
        self.times_sent = Counter()
        self.failed = 0

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        self.times_sent.update(row.tobytes() for row in rows)
        try:
            return await super().recognize(rows, timeout_s=timeout_s, alternatives=alternatives)
        except OutOfMemory:
            self.failed += 1
            raise


async def recorded(server, names=EDITED, pages=PAGES):
    """The texts of pages that are read at once, with each row counted."""
    async with connected(server, names) as backend:
        recording = Recording(backend)
        async with pipeline_on(recording) as read:
            answers = await asyncio.gather(*(read(data) for data in pages))
    return [answer.text for answer in answers], recording


@pytest.mark.parametrize("share", [2, 4, 8])
async def test_no_row_is_sent_more_than_1_plus_log2_times(server, models, measured, share):
    texts, needed = await recorded(server)
    models.spoil(RECOGNITION, memory_bytes=CHUNK_AREA * CHANNELS // share)
    short_texts, made = await recorded(server)
    measured(f"1/{share} of a chunk fits: {comparison(made, needed)}")
    assert short_texts == texts
    assert made.times_sent.keys() == needed.times_sent.keys()
    assert most_times_sent(made, needed) <= 1 + math.log2(64)


def most_times_sent(made, needed):
    return max(made.times_sent[row] / needed.times_sent[row] for row in needed.times_sent)


def comparison(made, needed):
    mean = made.times_sent.total() / needed.times_sent.total()
    return (
        f"{len(made.chunks)} calls instead of {len(needed.chunks)}, {made.failed} ran out of memory; "
        f"a row is sent {mean:.2f} times in the mean, {most_times_sent(made, needed):g} times at most"
    )


async def test_a_line_that_does_not_fit_alone_is_a_503_or_with_partial_a_warning(models, gateway):
    """The wide line is read in pieces of the last bucket."""
    wide, short = wide_line(), lines_of_words(3, first=60, longest=2)
    mixed = page(short, width=wide.width, height=wide.height + 400, size=40, step=120)
    mixed.paste(wide, (0, 400))
    models.spoil(RECOGNITION, memory_bytes=BELOW_A_WIDE_ROW_BYTES)
    async with client_of(gateway) as client:
        refused = await ask(client, png(mixed), limit_side=3300)
        partial = await ask(client, png(mixed), limit_side=3300, partial=True)
        alone = await ask(client, png(wide), limit_side=3300, partial=True)
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["stage"]) == (503, "out_of_memory", "recognize")
    assert problem["retryable"]
    assert int(refused.headers["Retry-After"]) > 0
    assert partial.status_code == 200
    answer = partial.json()
    assert [line["text"] for line in answer["pages"][0]["lines"]] == [*short, None]
    assert {warning["code"]: warning["detail"] for warning in answer["warnings"]} == {
        "lines_unread": "lines that could not be read, and are given without text: 1 (out_of_memory)"
    }
    assert (alone.status_code, alone.json()["code"]) == (503, "out_of_memory")
    assert total_at(f"{gateway}/metrics", "ocr_lines_unread_total", code="out_of_memory") >= 1


async def test_detection_is_not_cut_down(server, models, gateway):
    models.spoil(DETECTION, memory_bytes=1)
    before = triton_requests(server, DETECTION)
    async with client_of(gateway) as client:
        refused = await ask(client, PAGES[-1], partial=True)
    assert (refused.status_code, refused.json()["code"], refused.json()["stage"]) == (503, "out_of_memory", "detect")
    assert triton_requests(server, DETECTION) == before + 1


async def test_with_one_model_per_shape_the_next_smaller_row_count_is_taken(
    triton_runtime, repositories, tmp_path, measured
):
    repository = DrillRepository(repositories[SHAPED], tmp_path / "models")
    small = [png(small_page(number)) for number in range(6)]
    with TritonProcess(
        with_faulty_backend(triton_runtime, tmp_path / "backends"),
        repository.root,
        log_file=tmp_path / "triton.log",
        ports=Ports.free(),
    ) as process:
        texts, needed = await recorded(process, SHAPED, small)
        for bucket in FEW_SHAPES.buckets:
            repository.spoil(f"{SHAPED.recognition}_w{bucket}_r8", memory_bytes=1)
        short_texts, made = await recorded(process, SHAPED, small)
    measured(f"one model per shape, and those of 8 rows do not fit: {comparison(made, needed)}")
    assert short_texts == texts
    assert 0 < made.failed <= CALLS_IN_FLIGHT * len(FEW_SHAPES.buckets)
    assert {rows for rows, *_ in made.chunks} == {1, 8}


@pytest.fixture
def limited_server(request, triton_runtime, tmp_path):
    """A server whose recogniser has an arena of limited size, which shrinks after each run or keeps what it has."""
    parameters = {"test_arena_bytes": str(ARENA_BYTES)}
    if request.param == "shrinks":
        parameters["memory.enable_memory_arena_shrinkage"] = "cpu:0"
    repository = DrillRepository(build_models(HOME), tmp_path / "models")
    repository.configure(
        {path: text + as_config(parameters) for path, text in repository.configurations(RECOGNITION).items()}
    )
    runtime = with_faulty_backend(triton_runtime, tmp_path / "backends")
    shutil.copyfile(LIMITED_ARENA_BACKEND, runtime.backends / "onnxruntime" / "model.py")
    log = tmp_path / "triton.log"
    with TritonProcess(runtime, repository.root, log_file=log, ports=Ports.free()) as process:
        yield process


def as_config(parameters):
    return "".join(
        f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}\n' for key, text in parameters.items()
    )


@pytest.mark.parametrize("limited_server", ["shrinks", "keeps"], indirect=True)
async def test_an_arena_that_really_is_too_small_costs_no_request_and_no_text(
    server, limited_server, measured, request
):
    """A failed run leaves pieces in the arena: where it does not shrink, less fits from then on than before."""
    texts, needed = await recorded(server)
    short_texts, made = await recorded(limited_server)
    measured(f"the arena really is too small and {request.node.callspec.id}: {comparison(made, needed)}")
    assert short_texts == texts
    assert made.failed > 0
    assert most_times_sent(made, needed) <= 1 + math.log2(64)
