"""Small models for a real tritonserver that do what a test wants: say a text, sleep, break, take too much memory."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from tritonclient.grpc.service_pb2 import ModelInferRequest

IN_PYTHON = """
import json, time
from pathlib import Path
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        self.texts = json.loads((Path(args["model_repository"]) / "texts.json").read_text())

    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(request, "x")) for request in requests]

    def answer(self, x):
        {answer}
        return pb_utils.InferenceResponse([pb_utils.Tensor("y", x.as_numpy())])
"""
SLEEP = "time.sleep(float(x.as_numpy().max()))"
BREAK = "raise RuntimeError('a bug of the model')"
SAY = (
    "return pb_utils.InferenceResponse(error=pb_utils.TritonError("
    "self.texts[int(x.as_numpy().max())], pb_utils.TritonError.INTERNAL))"
)

CONFIG = """
name: "{name}"
backend: "{backend}"
max_batch_size: 1
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "y" data_type: TYPE_FP32 dims: [ {columns} ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
{more}
"""

ENSEMBLE = """
name: "{name}"
platform: "ensemble"
max_batch_size: 1
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ 1 ] }} ]
output [ {{ name: "y" data_type: TYPE_FP32 dims: [ 1 ] }} ]
ensemble_scheduling {{ step [ {steps} ] }}
"""


def add_scripted_model(
    repository: Path, name: str, answer: str, *, texts: Sequence[str] = (), more: str = "dynamic_batching { }"
) -> None:
    """A model in Python that takes one number."""
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(IN_PYTHON.format(answer=answer))
    (folder / "texts.json").write_text(json.dumps(texts))
    (folder / "config.pbtxt").write_text(CONFIG.format(name=name, backend="python", columns=1, more=more))


def add_hungry_model(repository: Path, name: str, *, more: str = "") -> None:
    """A model in ONNX that takes one number and repeats it so many times."""
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["columns"], to=TensorProto.INT64),
            helper.make_node("Reshape", ["columns", "flat"], ["shape"]),
            helper.make_node("Expand", ["x", "shape"], ["y"]),
        ],
        "hungry",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "columns"])],
        [helper.make_tensor("flat", TensorProto.INT64, [1], [-1])],
    )
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "1" / "model.onnx"
    )
    (folder / "config.pbtxt").write_text(CONFIG.format(name=name, backend="onnxruntime", columns=-1, more=more))


def add_ensemble(repository: Path, name: str, steps: Sequence[str]) -> None:
    """A model that gives a number to one scripted model after the other."""
    tensors = ["x", *(f"after_{step}" for step in steps[:-1]), "y"]
    written = ", ".join(
        f'{{ model_name: "{step}" model_version: -1 input_map {{ key: "x" value: "{given}" }} '
        f'output_map {{ key: "y" value: "{made}" }} }}'
        for step, (given, made) in zip(steps, pairwise(tensors), strict=True)
    )
    (repository / name / "1").mkdir(parents=True)
    (repository / name / "config.pbtxt").write_text(ENSEMBLE.format(name=name, steps=written))


def asking(model: str, x: float | np.ndarray, *, version: str = "") -> ModelInferRequest:
    """The request that gives a model one number, or an array that it may not like."""
    array = x if isinstance(x, np.ndarray) else np.array([[x]], np.float32)
    request = ModelInferRequest(model_name=model, model_version=version)
    kind = {"float32": "FP32", "int32": "INT32"}[array.dtype.name]
    request.inputs.add(name="x", datatype=kind, shape=array.shape)
    request.raw_input_contents.append(array.tobytes())
    return request
