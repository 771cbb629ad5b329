"""Two Tritons with the same models: one for the gateway, and one whose Python model does everything itself."""

import json
import resource
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import grpc
import psutil
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup
from tritonclient.grpc.service_pb2 import ModelInferRequest, ModelInferResponse
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from loadtest.accuracy.circumstances import ROOT
from loadtest.gpu.http_client import Connection
from loadtest.pipeline.reading import Lines, Side
from loadtest.stages.measure import OK, gateway
from loadtest.stages.stand import HOME, models
from loadtest.terminal import say
from tests.drills.repositories import RECOGNITION, DrillRepository, with_faulty_backend
from triton_models.processes import group_members
from triton_models.runtime import install_runtime
from triton_models.server import LOOPBACK, Ports, TritonProcess

MODEL = "ocr_pipeline"
LEFT_FOR_OTHERS = 4 << 30
"""Bytes of the machine's memory that no Triton may take, or the kernel would end somebody's process."""
MODEL_FILE = Path(__file__).with_name("model.py")
MOST_ROWS = 5000
"""Of one batch, which the shape to be replaced does not bound."""
TIMEOUT_S = 600.0
CONFIG = f"""
name: "{MODEL}"
backend: "python"
input [ {{ name: "data" data_type: TYPE_UINT8 dims: [ -1 ] }} ]
output [ {{ name: "lines" data_type: TYPE_UINT8 dims: [ -1 ] }} ]
"""
ANY_SIZE = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))


@dataclass(frozen=True, slots=True)
class Served:
    """A Triton of one side.

    Attributes:
        server: see there.
        repository: its models, which can be made to fail.
    """

    server: TritonProcess
    repository: DrillRepository


class PipelineSide:
    """Asks the one model."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._channel = grpc.aio.insecure_channel(served.server.grpc_address, ANY_SIZE)
        self._stub = GRPCInferenceServiceStub(self._channel)

    async def read(self, page: bytes) -> Lines:
        """Have a page read; without lines but with the reason, if it was not."""
        request = ModelInferRequest(model_name=MODEL, raw_input_contents=[page])
        request.inputs.add(name="data", datatype="UINT8", shape=[len(page)])
        try:
            answer: ModelInferResponse = await self._stub.ModelInfer(request, timeout=TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            return Lines((), f"{error.code().name}: {error.details()}")
        return Lines(tuple(text for text, _ in json.loads(answer.raw_output_contents[0])))

    async def close(self) -> None:
        """Disconnect."""
        await self._channel.close()


class GatewaySide:
    """Asks a gateway, over connections that stay open.

    Lines are read once, as by the other side; a page is given without those that can't be read (`partial`).
    """

    def __init__(self, served: Served, port: int) -> None:
        self.served = served
        self._port = port
        self._idle: list[Connection] = []

    async def read(self, page: bytes) -> Lines:
        """Have a page read."""
        connection = self._idle.pop() if self._idle else Connection(LOOPBACK, self._port)
        path = f"/v1/ocr?reread=false&partial=true&min_score=0&timeout={TIMEOUT_S:g}"
        answer = await connection.post(path, page)
        self._idle.append(connection)
        told = json.loads(answer.body)
        if answer.status != OK:
            return Lines((), f"{answer.status} {told['code']}: {told.get('detail', '')}")
        lines = [line["text"] for line in told["pages"][0]["lines"]]
        warnings = "; ".join(warning["detail"] for warning in told["warnings"])
        return Lines(tuple(text for text in lines if text is not None), warnings)

    def close(self) -> None:
        """Disconnect."""
        while self._idle:
            self._idle.pop().close()


@asynccontextmanager
async def sides(model_set: str, instances: int, most_growth: int, folder: Path) -> AsyncIterator[dict[str, Side]]:
    """Both, ready; each model's process may grow by so many bytes."""
    with ExitStack() as stack:
        replaced = stack.enter_context(served(model_set, folder / "pipeline", instances))
        ours = stack.enter_context(served(model_set, folder / "gateway", 0))
        async with gateway(ours.server.grpc_address, folder) as (port, _):
            for one in (replaced, ours):
                limit_growth(one.server, most_growth)
            pipeline, through_gateway = PipelineSide(replaced), GatewaySide(ours, port)
            yield {"pipeline": pipeline, "gateway": through_gateway}
            await pipeline.close()
            through_gateway.close()


@contextmanager
def served(model_set: str, folder: Path, instances: int) -> Iterator[Served]:
    """A Triton with so many instances of the model that does everything; none: only the models that it asks."""
    folder.mkdir()
    repository = DrillRepository(models(model_set), folder / "models")
    if instances:
        add_pipeline(repository.root, folder / "modules", instances)
    runtime = with_faulty_backend(install_runtime(HOME / "triton", say), folder / "backends")
    with TritonProcess(runtime, repository.root, log_file=folder / "log", ports=Ports.free()) as server:
        yield Served(server, repository)


def allowed_growth(wanted: int) -> int:
    """So many bytes, or what the machine has to spare."""
    return max(0, min(wanted, psutil.virtual_memory().available - LEFT_FOR_OTHERS))


def limit_growth(server: TritonProcess, most_bytes: int) -> None:
    """Let no model's process have so many bytes of addresses more than it has now (Linux); the server itself may."""
    for pid in set(group_members(server.pid)) - {server.pid}:
        limit = psutil.Process(pid).memory_info().vms + most_bytes
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def add_pipeline(repository: Path, modules: Path, instances: int) -> None:
    """Put the model into the repository, and let the recogniser take batches of any number of rows."""
    recognition = read_config(repository / RECOGNITION)
    recognition.max_batch_size = MOST_ROWS
    write_config(repository / RECOGNITION, recognition)
    modules.mkdir()
    (modules / "cv2").symlink_to(Path(cv2.__file__).parent)
    config = text_format.Parse(CONFIG, ModelConfig())
    config.instance_group.add(kind=ModelInstanceGroup.KIND_CPU, count=instances)
    config.parameters["paths"].string_value = f"{modules}:{ROOT}"
    config.parameters["charset"].string_value = recognition.parameters["charset"].string_value
    (repository / MODEL / "1").mkdir(parents=True)
    shutil.copyfile(MODEL_FILE, repository / MODEL / "1" / "model.py")
    write_config(repository / MODEL, config)


def read_config(model: Path) -> ModelConfig:
    """A model's configuration."""
    return text_format.Parse((model / "config.pbtxt").read_text(encoding="utf-8"), ModelConfig())


def write_config(model: Path, config: ModelConfig) -> None:
    """Write it."""
    (model / "config.pbtxt").write_text(text_format.MessageToString(config), encoding="utf-8")
