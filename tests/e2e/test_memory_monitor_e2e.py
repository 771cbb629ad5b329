"""Watched Python backends on a real tritonserver: the one that leaks is found, the one that does not leak is not."""

import asyncio
import re
import shutil
from pathlib import Path

import grpc
import pytest
from scripted_models import CONFIG, asking
from triton_metrics import page, samples_at
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

import triton_models
from tests.ops import metric_names
from tests.ops.alerts import FOLDER
from triton_models.memory_monitor import GROWTH_NAME, INTERVAL_S, PREFIX
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

PACKAGE = Path(triton_models.__file__).parent
ALERT = re.search(rf"{GROWTH_NAME}{{.*}}\[1h\]\) > (\S+)", (FOLDER / "rules" / "faults.yml").read_text())
REQUESTS = 500
LEAK_BYTES = 65_536
"""That the leaky model keeps for each of them."""
OF_TORCH_AND_NVML = {f"{PREFIX}_{kind}_bytes" for kind in ("torch_allocated", "torch_reserved", "device_used")}


def add_example(repository: Path, name: str, *, instances: int = 1) -> None:
    """One of the example models, with the monitor beside it."""
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    for source in (PACKAGE / "examples" / name / "model.py", PACKAGE / "memory_monitor.py"):
        shutil.copy(source, folder / "1")
    config = CONFIG.format(name=name, backend="python", columns=1, more="dynamic_batching { }")
    (folder / "config.pbtxt").write_text(config.replace("count: 1", f"count: {instances}"))


async def ask(server: TritonProcess, model: str, requests: int, *, at_once: int = 1) -> None:
    async with grpc.aio.insecure_channel(server.grpc_address) as channel:
        stub = GRPCInferenceServiceStub(channel)

        async def some():
            for number in range(requests):
                reply = await stub.ModelInfer(asking(model, float(number)), timeout=20)
                assert len(reply.raw_output_contents[0]) == 4

        await asyncio.gather(*(some() for _ in range(at_once)))


async def watch(server: TritonProcess, model: str, *, at_once: int = 1) -> None:
    """Let a model work, and once more when the metrics may be told."""
    await ask(server, model, REQUESTS, at_once=at_once)
    await asyncio.sleep(INTERVAL_S)
    await ask(server, model, 10, at_once=at_once)


def growth(server: TritonProcess, model: str, memory: str) -> dict[str, float]:
    """Bytes per 1,000 requests, by instance."""
    samples = samples_at(metrics_of(server), GROWTH_NAME, model=model, version="1", memory=memory)
    return {dict(labels)["model_instance"]: value for labels, value in samples.items()}


def metrics_of(server: TritonProcess) -> str:
    return f"http://127.0.0.1:{server.ports.metrics}/metrics"


@pytest.fixture(scope="module")
def server(triton_runtime, tmp_path_factory):
    """A server of the leaky model, and of two instances of the clean one."""
    folder = tmp_path_factory.mktemp("watched")
    add_example(folder / "models", "leaky")
    add_example(folder / "models", "clean", instances=2)
    with TritonProcess(triton_runtime, folder / "models", log_file=folder / "log", ports=Ports.free()) as server:
        yield server


async def test_the_leaky_model_grows_by_what_it_keeps_and_each_instance_of_the_clean_one_stays(server, measured):
    await asyncio.gather(watch(server, "leaky"), watch(server, "clean", at_once=4))
    leaky, clean = growth(server, "leaky", "private"), growth(server, "clean", "private")
    measured(f"grown by, bytes per 1,000 requests: {leaky}, {clean}; an alert above {ALERT[1]}")
    assert leaky["leaky_0_0"] == pytest.approx(1000 * LEAK_BYTES, rel=0.2)
    assert leaky["leaky_0_0"] > 10 * float(ALERT[1])
    assert clean.keys() == {"clean_0_0", "clean_0_1"}
    assert max(clean.values()) < float(ALERT[1]) / 2


async def test_every_metric_of_the_monitor_that_is_spoken_of_is_on_a_real_metrics_page(server):
    await watch(server, "leaky")
    known = metric_names.names_in(page(metrics_of(server))) | OF_TORCH_AND_NVML
    spoken_of = {
        name for path in metric_names.files() for name in re.findall(rf"(?<!\w){PREFIX}_\w+(?!\w)", path.read_text())
    }
    assert GROWTH_NAME in spoken_of
    assert spoken_of <= known
