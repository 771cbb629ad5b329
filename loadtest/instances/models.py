"""Model repositories with so many instances of one model, and the requests that it is asked."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig, ModelInstanceGroup
from tritonclient.grpc.service_pb2 import ModelInferRequest

import triton_models.memory_monitor
from loadtest.accuracy.circumstances import ROOT
from triton_models.build import build_repository
from triton_models.catalog import DEFAULT_MODEL_SET, MODEL_SETS
from triton_models.graph import GraphKind
from triton_models.layouts import ANY_SHAPES, Layout
from triton_models.plans import Names, Recipe

BUSY_MS = 5
BUSY_MODEL = f"""
import time
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(request, "x")) for request in requests]

    def answer(self, x):
        end = time.thread_time() + {BUSY_MS / 1000}
        while time.thread_time() < end:
            pass
        return pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", x.to_dlpack())])
"""
COST_MODEL = """
import json, time
from pathlib import Path
import memory_monitor
import triton_python_backend_utils as pb_utils

def us(monitor, times):
    begin = time.perf_counter()
    for _ in range(times):
        with monitor.watching(10):
            pass
    return (time.perf_counter() - begin) / times * 1e6

class TritonPythonModel:
    def initialize(self, args):
        ticks = iter(range(0, 100_000_000, 10))
        seldom = memory_monitor.MemoryMonitor(args, pb_utils, lambda: 0.0)
        always = memory_monitor.MemoryMonitor(args, pb_utils, lambda: float(next(ticks)))
        us(always, 2_000)
        us(seldom, 2_000)
        executes, updates = [us(seldom, 2_000) for _ in range(9)], [us(always, 50) for _ in range(9)]
        cost = {"execute_us": min(executes), "update_us": min(updates)}
        (Path(args["model_repository"]) / "cost.json").write_text(json.dumps(cost))

    def execute(self, requests):
        return []
"""
"""Measures the monitor with the metrics of a real server: in most executions, and in those that tell the server."""

ECHO_CONFIG = """
name: "{name}"
backend: "python"
max_batch_size: 1
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ -1 ] }} ]
output [ {{ name: "y" data_type: TYPE_FP32 dims: [ -1 ] }} ]
dynamic_batching {{ }}
"""
ROWS = np.full((8, 48, 320, 3), 255, np.uint8)
"""A chunk of recognition: rows, height, width, BGR."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model that is measured.

    Attributes:
        name: of the model.
        add: puts it into a repository, with so many instances.
        request: what it is asked.
    """

    name: str
    add: Callable[[Path, int], None]
    request: Callable[[], ModelInferRequest]


def add_busy(repository: Path, instances: int) -> None:
    """A model of a few lines that computes in Python."""
    write_model(repository, "busy", BUSY_MODEL, instances)


def add_cost(repository: Path) -> None:
    """The model that measures the monitor."""
    write_model(repository, "cost", COST_MODEL, 1)
    shutil.copy(triton_models.memory_monitor.__file__, repository / "cost" / "1")


def write_model(repository: Path, name: str, source: str, instances: int) -> None:
    """A model from its source."""
    (repository / name / "1").mkdir(parents=True)
    (repository / name / "1" / "model.py").write_text(source)
    write_config(repository, text_format.Parse(ECHO_CONFIG.format(name=name), ModelConfig()), instances)


def add_recogniser(repository: Path, instances: int) -> None:
    """The service's own recogniser, without merging requests, which would give few instances larger calls than many."""
    built = built_repository() / "text_recognition"
    shutil.copytree(built / "1", repository / built.name / "1")
    config = text_format.Parse((built / "config.pbtxt").read_text(), ModelConfig())
    config.max_batch_size = len(ROWS)
    write_config(repository, config, instances)


def write_config(repository: Path, config: ModelConfig, instances: int) -> None:
    """The configuration, with so many instances on the CPU."""
    del config.instance_group[:]
    config.instance_group.add(kind=ModelInstanceGroup.KIND_CPU, count=instances)
    (repository / config.name / "config.pbtxt").write_text(text_format.MessageToString(config))


def built_repository() -> Path:
    """The default model set, built for the purpose."""
    folder = ROOT / ".local" / "instances"
    recipe = Recipe(Layout.ANY, GraphKind.TOP1, ANY_SHAPES, Names(), warm_up=False)
    build_repository(MODEL_SETS[DEFAULT_MODEL_SET], folder, recipe, wheels=ROOT / ".local" / "wheels")
    return folder


def echo_request(size: int = 4) -> ModelInferRequest:
    """So many bytes for the busy model, which gives them back."""
    request = ModelInferRequest(model_name="busy")
    request.inputs.add(name="x", datatype="FP32", shape=(1, size // 4))
    request.raw_input_contents.append(bytes(size))
    return request


def rows_request() -> ModelInferRequest:
    """A chunk for the recogniser."""
    request = ModelInferRequest(model_name="text_recognition")
    request.inputs.add(name="crops", datatype="UINT8", shape=ROWS.shape)
    request.raw_input_contents.append(ROWS.tobytes())
    return request


BUSY = Subject("busy", add_busy, echo_request)
RECOGNISER = Subject("text_recognition", add_recogniser, rows_request)
