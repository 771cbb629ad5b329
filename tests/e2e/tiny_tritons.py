"""Real tritonservers that start in half a second: their two models are a few lines, and can be made to go wrong."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from google.protobuf import text_format
from made_configs import detection_config, recognition_config
from tritonclient.grpc.model_config_pb2 import ModelInstanceGroup

from gateway.errors import OcrError
from gateway.inference.triton import TritonBackend
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess

IMAGE = np.zeros((64, 64, 3), np.uint8)
ROWS = np.zeros((2, 48, 32, 3), np.uint8)

MODEL = """
import json, os, time
from pathlib import Path
import numpy as np
import triton_python_backend_utils as pb

class TritonPythonModel:
    def initialize(self, args):
        self.name = args["model_name"]
        self.fault = Path(args["model_repository"]).parent / "fault.json"

    def execute(self, requests):
        fault = json.loads(self.fault.read_text()) if self.fault.exists() else {}
        time.sleep(0.005)
        if fault.get("exit") == self.name:
            os._exit(1)
        if fault.get("hang") == self.name:
            time.sleep(12)
        if fault.get("dawdle") == self.name:
            time.sleep(0.1)
        if fault.get("fail") == self.name:
            return [pb.InferenceResponse(error=pb.TritonError("it broke")) for _ in requests]
        return [pb.InferenceResponse(self.answer(request)) for request in requests]

    def answer(self, request):
        if self.name.endswith("text_detection"):
            image = pb.get_input_tensor_by_name(request, "image").as_numpy()
            return [pb.Tensor("probability_map", np.ascontiguousarray(image[..., 0]))]
        rows = pb.get_input_tensor_by_name(request, "crops").as_numpy()
        steps = np.zeros(rows.shape[::2][:2], np.float32)
        names = "probability", "space_probability"
        return [pb.Tensor("class_index", steps.astype(np.int32)), *(pb.Tensor(name, steps) for name in names)]
"""


class TinyTriton:
    """One server, its repository and its ports, which it keeps when it is started again."""

    def __init__(self, runtime: TritonRuntime, folder: Path, extra_flags: Sequence[str] = ()) -> None:
        self._fault = folder / "models" / "fault.json"
        add_models(folder / "models")
        self.process = TritonProcess(
            runtime, folder / "models", log_file=folder / "log", ports=Ports.free(), extra_flags=extra_flags
        )

    @property
    def address(self) -> str:
        return self.process.grpc_address

    @property
    def pid(self) -> int:
        return self.process.pid

    def break_model(self, name: str, how: str) -> None:
        """From now on it is going to "fail" every call, to "hang" or "dawdle", or to "exit" with the next one."""
        self._fault.write_text(json.dumps({how: name}))

    async def start_again(self) -> None:
        """Start it where it was, and wait until it is ready; on the main thread, as `TritonProcess` wants it."""
        self.process.start()
        await asyncio.to_thread(self.process.wait_ready)


def add_models(repository: Path) -> None:
    for config in (detection_config(), recognition_config()):
        config.backend = "python"
        config.dynamic_batching.SetInParent()
        config.instance_group.add(kind=ModelInstanceGroup.KIND_CPU, count=1)
        folder = repository / config.name
        (folder / "1").mkdir(parents=True)
        (folder / "1" / "model.py").write_text(MODEL)
        (folder / "config.pbtxt").write_text(text_format.MessageToString(config, as_utf8=True), encoding="utf-8")


@contextmanager
def tiny_tritons(runtime: TritonRuntime, folder: Path, count: int) -> Iterator[list[TinyTriton]]:
    """So many servers that are ready."""
    with ExitStack() as stack:
        tritons = [TinyTriton(runtime, folder / str(number)) for number in range(count)]
        for triton in tritons:
            stack.enter_context(triton.process)
        yield tritons


@dataclass
class Load:
    """Calls to both models in turn, so many a second whatever comes of them (an open loop)."""

    backend: TritonBackend
    per_second: float = 80
    timeout_s: float = 20
    outcomes: Counter[str] = field(default_factory=Counter)
    latest_failure_at: float = 0
    longest_s: float = 0

    @property
    def failed(self) -> int:
        return self.outcomes.total() - self.outcomes["ok"]

    async def run(self, count: int) -> None:
        began_at = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in range(count):
                await asyncio.sleep(max(0, began_at + number / self.per_second - time.monotonic()))
                tasks.create_task(self._call(number))

    async def _call(self, number: int) -> None:
        began_at = time.monotonic()
        try:
            await (
                self.backend.detect(IMAGE, timeout_s=self.timeout_s)
                if number % 2
                else self.backend.recognize(ROWS, timeout_s=self.timeout_s)
            )
        except OcrError as error:
            self.outcomes[error.code] += 1
            self.latest_failure_at = time.monotonic()
        else:
            self.outcomes["ok"] += 1
            self.longest_s = max(self.longest_s, time.monotonic() - began_at)
