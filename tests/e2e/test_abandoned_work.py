"""Work that nobody waits for any more does not run, on a real tritonserver whose recogniser is slow."""

import asyncio
import time

import httpx
import pytest
from gateways import ONLY_REQUESTS, running_gateway
from rendered_pages import png, receipt
from served_models import HOME
from triton_metrics import total_at, triton_executions

from tests.drills.repositories import RECOGNITION, DrillRepository, build_models, with_faulty_backend
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PAGE = png(receipt())
RUN_S = 0.5
CALLS_IN_FLIGHT = 6
DEADLINE_S = 2.0
RUNNING_AND_PREFETCHED = 3
"""What Triton can't take back: the execution under way, and two that it has handed on to the model already."""


@pytest.fixture(scope="module")
def server(triton_runtime, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slow")
    repository = DrillRepository(build_models(HOME), folder / "models")
    repository.spoil(RECOGNITION, slow_s=RUN_S)
    with TritonProcess(
        with_faulty_backend(triton_runtime, folder / "backends"),
        repository.root,
        log_file=folder / "triton.log",
        ports=Ports.free(),
    ) as process:
        yield process


@pytest.fixture
def gateway(server):
    with running_gateway(server.grpc_address, **ONLY_REQUESTS, OCR_RECOGNITION_CALLS=str(CALLS_IN_FLIGHT)) as url:
        yield url


COUNTERS = ("ocr_chunks_total", "ocr_backend_calls_cancelled_total", "ocr_batcher_dropped_rows_total")


def counted(gateway):
    return {name: total_at(f"{gateway}/metrics", name) for name in COUNTERS}


def calls_in_flight(gateway):
    return total_at(f"{gateway}/metrics", "ocr_backend_calls_in_flight", model=RECOGNITION)


def ask(client, **options):
    return client.post("/v1/ocr", params={"reread": False, **options}, content=PAGE)


async def executions_in_the_end(server):
    """Executions, once there have been no more for longer than one takes."""
    seen, since = triton_executions(server, RECOGNITION), time.monotonic()
    while time.monotonic() - since < 3 * RUN_S:
        await asyncio.sleep(RUN_S / 5)
        now = triton_executions(server, RECOGNITION)
        if now != seen:
            seen, since = now, time.monotonic()
    return seen


async def client_leaves(gateway, client):
    asking = asyncio.create_task(ask(client))
    while calls_in_flight(gateway) < CALLS_IN_FLIGHT:  # noqa: ASYNC110 - it is counted in another process
        await asyncio.sleep(RUN_S / 10)
    asking.cancel()
    await asyncio.wait([asking])


async def deadline_passes(gateway, client):
    answer = await ask(client, timeout=DEADLINE_S)
    assert answer.status_code in {503, 504}
    assert answer.json()["code"] in {"inference_timeout", "deadline_exceeded"}


@pytest.mark.parametrize("ending", [client_leaves, deadline_passes])
async def test_what_a_request_that_has_ended_had_queued_does_not_run(server, gateway, measured, ending):
    async with httpx.AsyncClient(base_url=gateway, timeout=60, trust_env=False) as client:
        begun = triton_executions(server, RECOGNITION)
        assert (await ask(client)).status_code == 200
        whole = await executions_in_the_end(server)
        counts = counted(gateway)
        await ending(gateway, client)
        ended = triton_executions(server, RECOGNITION)
    late = await executions_in_the_end(server) - ended
    sent, cancelled, dropped = (counted(gateway)[name] - counts[name] for name in COUNTERS)
    measured(
        f"{ending.__name__}: a page takes {whole - begun:.0f} executions; of {sent:.0f} calls {ended - whole:.0f} had "
        f"run by then and {late:.0f} did later; {cancelled:.0f} calls were cancelled and {dropped:.0f} lines dropped"
    )
    assert late <= RUNNING_AND_PREFETCHED
    assert ended - whole + late < whole - begun
    assert cancelled > RUNNING_AND_PREFETCHED
    assert dropped > 0
