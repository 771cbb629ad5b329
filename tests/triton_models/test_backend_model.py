"""The Python-based backend with a fake of Triton's module; the end-to-end tests run it in a real server."""

import importlib.util
import json
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

Array = npt.NDArray[Any]
MODEL_FILE = Path(__file__).parents[2] / "triton_models" / "backends" / "onnxruntime" / "model.py"


@dataclass
class Tensor:
    """Triton's tensor: made from a DLPack capsule, and read by DLPack."""

    name: str
    array: Array

    @classmethod
    def from_dlpack(cls, name: str, capsule: object) -> "Tensor":
        return cls(name, np.from_dlpack(Capsule(capsule)))

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@dataclass
class Capsule:
    capsule: object

    def __dlpack__(self, **options: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class TritonError(Exception):
    INTERNAL = "INTERNAL"
    CANCELLED = "CANCELLED"

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message, self.code = message, code


@dataclass
class InferenceResponse:
    output_tensors: list[Tensor] = field(default_factory=list)
    error: TritonError | None = None

    @property
    def arrays(self) -> list[list[object]]:
        assert self.error is None
        return [tensor.array.tolist() for tensor in self.output_tensors]


@dataclass
class Request:
    """Named inputs."""

    inputs: dict[str, Array]
    cancelled: bool = False

    def is_cancelled(self) -> bool:
        return self.cancelled


class Logger:
    lines: list[str] = []  # noqa: RUF012 - emptied by the fixture

    @classmethod
    def log_info(cls, message: str) -> None:
        cls.lines.append(message)


def fake_triton_module() -> types.ModuleType:
    module = types.ModuleType("triton_python_backend_utils")
    contents = {
        "Tensor": Tensor,
        "TritonError": TritonError,
        "InferenceResponse": InferenceResponse,
        "Logger": Logger,
        "get_input_tensor_by_name": lambda request, name: Tensor(name, request.inputs[name]),
    }
    vars(module).update(contents)
    return module


@pytest.fixture(scope="module")
def backend() -> Any:
    """The backend's module, imported as Triton's stub does it."""
    sys.modules["triton_python_backend_utils"] = fake_triton_module()
    spec = importlib.util.spec_from_file_location("backend_model", MODEL_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    del sys.modules["triton_python_backend_utils"]
    return module


@pytest.fixture(autouse=True)
def no_log() -> None:
    Logger.lines.clear()


def pick_graph() -> onnx.ModelProto:
    """doubled = x + x, picked = x[row, index]; a run fails where an index is out of range."""
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", None]),
        helper.make_tensor_value_info("index", TensorProto.INT64, ["rows", 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("doubled", TensorProto.FLOAT, ["rows", None]),
        helper.make_tensor_value_info("picked", TensorProto.FLOAT, ["rows", 1]),
    ]
    nodes = [
        helper.make_node("Add", ["x", "x"], ["doubled"]),
        helper.make_node("GatherElements", ["x", "index"], ["picked"], axis=1),
    ]
    return as_model(nodes, inputs, outputs)


def twice_graph() -> onnx.ModelProto:
    """twice = all rows of x and then all of them again: an output that can't be split by request."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", None])
    twice = helper.make_tensor_value_info("twice", TensorProto.FLOAT, ["more rows", None])
    return as_model([helper.make_node("Concat", ["x", "x"], ["twice"], axis=0)], [x], [twice])


def as_model(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "test", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def tensor(name: str, data_type: str, *dims: int) -> dict[str, object]:
    return {"name": name, "data_type": data_type, "dims": [str(dim) for dim in dims]}


PICK = {
    "max_batch_size": 8,
    "input": [tensor("x", "TYPE_FP32", -1), tensor("index", "TYPE_INT64", 1)],
    "output": [tensor("doubled", "TYPE_FP32", -1), tensor("picked", "TYPE_FP32", 1)],
}
TWICE = {
    "max_batch_size": 8,
    "input": [tensor("x", "TYPE_FP32", -1)],
    "output": [tensor("twice", "TYPE_FP32", -1)],
}


def parameters(**texts: str) -> dict[str, dict[str, str]]:
    return {name: {"string_value": text} for name, text in texts.items()}


def arguments(repository: Path, config: dict[str, Any], kind: str = "CPU") -> dict[str, str]:
    return {
        "model_config": json.dumps(config),
        "model_repository": str(repository),
        "model_version": "3",
        "model_instance_kind": kind,
        "model_instance_device_id": "0",
        "model_instance_name": "test_0_0",
    }


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "3").mkdir()
    onnx.save(pick_graph(), tmp_path / "3" / "model.onnx")
    return tmp_path


@dataclass
class CountingSession:
    """A session that counts its runs."""

    session: Any
    runs: int = 0

    def run(self, *arguments: object) -> object:
        self.runs += 1
        return self.session.run(*arguments)


@pytest.fixture
def load(backend: Any, repository: Path) -> Any:
    """Loads a model with this configuration, its session counted."""

    def load(config: dict[str, Any], kind: str = "CPU") -> Any:
        model = backend.TritonPythonModel()
        model.initialize(arguments(repository, config, kind))
        model._session = CountingSession(model._session)
        return model

    return load


def pick_request(rows: list[list[float]], index: list[int], *, cancelled: bool = False) -> Request:
    inputs = {"x": np.array(rows, np.float32), "index": np.array(index, np.int64)[:, None]}
    return Request(inputs, cancelled)


ONE = pick_request([[1, 2]], [1])
TWO = pick_request([[3, 4], [5, 6]], [0, 1])
OUT_OF_RANGE = pick_request([[7, 8]], [9])
ANSWER_TO_ONE = [[[2, 4]], [[2]]]
ANSWER_TO_TWO = [[[6, 8], [10, 12]], [[3], [6]]]


def test_no_requests_get_no_answers(load: Any) -> None:
    assert load(PICK).execute([]) == []


def test_a_request_is_answered_with_every_output_by_name(load: Any) -> None:
    (answer,) = load(PICK).execute([ONE])
    assert [tensor.name for tensor in answer.output_tensors] == ["doubled", "picked"]
    assert answer.arrays == ANSWER_TO_ONE


def test_merged_requests_are_run_once_and_get_their_own_rows(load: Any) -> None:
    model = load(PICK)
    answers = model.execute([ONE, TWO, ONE])
    assert [answer.arrays for answer in answers] == [ANSWER_TO_ONE, ANSWER_TO_TWO, ANSWER_TO_ONE]
    assert model._session.runs == 1


def test_a_failing_request_does_not_take_the_others_down(load: Any) -> None:
    first, bad, last = load(PICK).execute([ONE, OUT_OF_RANGE, TWO])
    assert (first.arrays, last.arrays) == (ANSWER_TO_ONE, ANSWER_TO_TWO)
    assert bad.error.code == TritonError.INTERNAL
    assert bad.error.message.startswith("onnx runtime error ")
    assert "GatherElements" in bad.error.message
    assert bad.output_tensors == []


def test_a_single_failing_request_is_run_once(load: Any) -> None:
    model = load(PICK)
    (answer,) = model.execute([OUT_OF_RANGE])
    assert answer.error is not None
    assert model._session.runs == 1


def test_nothing_of_a_failure_is_kept(load: Any) -> None:
    model = load(PICK)
    model.execute([ONE, OUT_OF_RANGE])
    assert [answer.arrays for answer in model.execute([TWO])] == [ANSWER_TO_TWO]


def test_cancelled_requests_are_not_run(load: Any) -> None:
    model = load(PICK)
    given_up = pick_request([[7, 8]], [9], cancelled=True)
    before, cancelled, after = model.execute([ONE, given_up, TWO])
    assert (before.arrays, after.arrays) == (ANSWER_TO_ONE, ANSWER_TO_TWO)
    assert cancelled.error.code == TritonError.CANCELLED
    assert model._session.runs == 1


def test_a_model_without_batching_runs_each_request_alone(load: Any) -> None:
    unbatched = {
        "max_batch_size": 0,
        "input": [tensor("x", "TYPE_FP32", -1, -1), tensor("index", "TYPE_INT64", -1, 1)],
        "output": [tensor("picked", "TYPE_FP32", -1, 1)],
    }
    model = load(unbatched)
    assert [answer.arrays for answer in model.execute([ONE, TWO])] == [[[[2]]], [[[3], [6]]]]
    assert model._session.runs == 2


def test_a_graph_that_mixes_rows_runs_each_request_alone(load: Any, repository: Path) -> None:
    onnx.save(twice_graph(), repository / "3" / "model.onnx")
    answers = load(TWICE).execute([Request({"x": TWO.inputs["x"]}), Request({"x": ONE.inputs["x"]})])
    assert [answer.arrays for answer in answers] == [[[[3, 4], [5, 6], [3, 4], [5, 6]]], [[[1, 2], [1, 2]]]]


def test_the_model_file_may_have_another_name(load: Any, repository: Path) -> None:
    (repository / "3" / "model.onnx").rename(repository / "3" / "other.onnx")
    (answer,) = load(PICK | {"default_model_filename": "other.onnx"}).execute([ONE])
    assert answer.arrays == ANSWER_TO_ONE


def test_a_missing_model_file_is_named(backend: Any, load: Any, repository: Path) -> None:
    (repository / "3" / "model.onnx").unlink()
    with pytest.raises(backend.ConfigurationError, match=r"unable to find '.*/3/model.onnx'"):
        load(PICK)


@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_a_gpu_instance_never_runs_on_the_cpu(backend: Any, load: Any) -> None:
    """The tests' ONNX Runtime has no CUDA, which is what a missing library looks like."""
    with pytest.raises(
        backend.ConfigurationError, match="GPU 0 was asked for, the session runs on CPUExecutionProvider"
    ):
        load(PICK, kind="GPU")


@dataclass
class Port:
    """An input or output of a model that OpenVINO has compiled."""

    any_name: str
    element_type: Any = field(default_factory=lambda: types.SimpleNamespace(get_type_name=lambda: "f32"))
    partial_shape: Any = (types.SimpleNamespace(is_dynamic=True), types.SimpleNamespace(is_dynamic=True))

    def __hash__(self) -> int:
        return hash(self.any_name)


class CompiledModel:
    """As OpenVINO has it: doubles what it is given."""

    inputs = (Port("x"),)
    outputs = (Port("doubled"),)

    def __init__(self) -> None:
        self.compiled: list[tuple[str, str, dict[str, str]]] = []

    def compile_model(self, path: str, device: str, options: dict[str, str]) -> "CompiledModel":
        self.compiled.append((Path(path).name, device, options))
        return self

    def create_infer_request(self) -> "CompiledModel":
        return self

    def infer(self, feed: dict[str, Array]) -> dict[Port, Array]:
        return {self.output("doubled"): 2 * feed["x"]}

    def output(self, name: str) -> Port:
        return next(port for port in self.outputs if port.any_name == name)

    def get_property(self, _: str) -> Any:
        return types.SimpleNamespace(get_type_name=lambda: "bf16")


def test_under_its_other_name_openvino_computes(
    backend: Any, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CompiledModel()
    monkeypatch.setitem(sys.modules, "openvino", types.SimpleNamespace(Core=lambda: model))
    parameters = {"INFERENCE_PRECISION_HINT": "bf16", "model_set": "made"}

    session = backend.open_engine({"backend": "openvino_python"}, repository / "model.onnx", parameters, None)

    assert model.compiled == [("model.onnx", "CPU", {"NUM_STREAMS": "1", "INFERENCE_PRECISION_HINT": "bf16"})]
    assert [array.tolist() for array in session.run(["doubled"], {"x": np.float32([[1, 2]])}, None)] == [[[2, 4]]]
    assert [(node.name, node.type, node.shape) for node in session.get_inputs()] == [
        ("x", "tensor(float)", ["any", "any"])
    ]
    assert session.get_providers() == ["OpenVINO in bf16"]


@pytest.mark.parametrize(
    "change",
    [
        {"output": []},
        {"output": [tensor("picked", "TYPE_FP32", 1)]},
        {"input": [tensor("x", "TYPE_FP32", 2), tensor("index", "TYPE_INT64", 1)]},
    ],
    ids=["no outputs", "some outputs", "a narrower input"],
)
def test_a_configuration_may_ask_for_less_than_the_graph_offers(load: Any, change: dict[str, Any]) -> None:
    load(PICK | change)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"output": [tensor("doubled", "TYPE_FP32", 7)]}, "'doubled' has shape"),
        ({"output": [tensor("absent", "TYPE_FP32", 1)]}, r"outputs \['absent'\], the model \['doubled', 'picked'\]"),
        ({"input": [tensor("x", "TYPE_FP32", -1)]}, r"inputs \['x'\], the model \['index', 'x'\]"),
        (
            {"output": [tensor("picked", "TYPE_FP16", 1)]},
            r"TYPE_FP16 in the configuration, tensor\(float\) in the model",
        ),
        ({"output": [tensor("picked", "TYPE_STRING", 1)]}, "TYPE_STRING in the configuration"),
        ({"output": [tensor("picked", "TYPE_FP32", 1, 1)]}, r"shape \[-1, 1, 1\] in the configuration, \[-1, 1\]"),
        ({"output": [tensor("picked", "TYPE_FP32", 2)]}, r"shape \[-1, 2\] in the configuration, \[-1, 1\] in the"),
        ({"max_batch_size": 0}, r"shape \[-1\] in the configuration, \[-1, -1\] in the model"),
    ],
)
def test_a_configuration_that_does_not_fit_the_graph_is_refused(
    backend: Any, load: Any, change: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(backend.ConfigurationError, match=complaint):
        load(PICK | change)


def test_a_graph_for_one_number_of_rows_can_not_be_batched(backend: Any, load: Any, repository: Path) -> None:
    """As in the C++ backend: max_batch_size > 0 needs a graph whose first dimension is open."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 2])
    onnx.save(as_model([helper.make_node("Abs", ["x"], ["y"])], [x], [y]), repository / "3" / "model.onnx")
    config = {"input": [tensor("x", "TYPE_FP32", 2)], "output": [tensor("y", "TYPE_FP32", 2)]}
    with pytest.raises(
        backend.ConfigurationError, match=r"shape \[-1, 2\] in the configuration, \[8, 2\] in the model"
    ):
        load(config | {"max_batch_size": 8})


@pytest.mark.parametrize(
    ("name", "text", "attribute", "value"),
    [
        ("intra_op_thread_count", "2", "intra_op_num_threads", 2),
        ("inter_op_thread_count", "3", "inter_op_num_threads", 3),
        ("execution_mode", "1", "execution_mode", ort.ExecutionMode.ORT_PARALLEL),
        ("enable_mem_arena", "0", "enable_cpu_mem_arena", False),
        ("enable_mem_arena", "True", "enable_cpu_mem_arena", True),
        ("enable_mem_pattern", "false", "enable_mem_pattern", False),
    ],
)
def test_options_have_the_names_of_the_cpp_backend(
    backend: Any, name: str, text: str, attribute: str, value: object
) -> None:
    assert getattr(backend.session_options({}, {name: text}), attribute) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("session.intra_op.allow_spinning", "0"),
        ("optimization.disable_specified_optimizers", "ConvAddFusion"),
    ],
)
def test_session_entries_are_passed_through(backend: Any, name: str, text: str) -> None:
    assert backend.session_options({}, {name: text}).get_session_config_entry(name) == text


@pytest.mark.parametrize(
    ("optimization", "level"),
    [
        ({}, ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
        ({"graph": {"level": 0}}, ort.GraphOptimizationLevel.ORT_ENABLE_ALL),
        ({"graph": {"level": -1}}, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC),
        ({"graph": {"level": 1}}, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED),
        ({"graph": {"level": 2}}, ort.GraphOptimizationLevel.ORT_DISABLE_ALL),
    ],
)
def test_graph_levels_mean_what_they_mean_to_the_cpp_backend(
    backend: Any, optimization: dict[str, Any], level: ort.GraphOptimizationLevel
) -> None:
    options = backend.session_options({"optimization": optimization}, {})
    assert options.graph_optimization_level == level


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ({}, {"device_id": "1"}),
        ({"charset": "abc"}, {"device_id": "1"}),
        ({"cudnn_conv_algo_search": "1"}, {"device_id": "1", "cudnn_conv_algo_search": "HEURISTIC"}),
        ({"arena_extend_strategy": "1"}, {"device_id": "1", "arena_extend_strategy": "kSameAsRequested"}),
        ({"gpu_mem_limit": "1000"}, {"device_id": "1", "gpu_mem_limit": "1000"}),
        ({"cudnn_conv_algo_search": "DEFAULT"}, {"device_id": "1", "cudnn_conv_algo_search": "DEFAULT"}),
    ],
)
def test_cuda_options_are_translated(backend: Any, texts: dict[str, str], options: dict[str, str]) -> None:
    assert backend.cuda_options(texts, 1) == options


def test_the_arena_can_be_shrunk_after_every_run(load: Any) -> None:
    shrinking = {"memory.enable_memory_arena_shrinkage": {"string_value": "cpu:0"}}
    (answer,) = load(PICK | {"parameters": shrinking}).execute([ONE])
    assert answer.arrays == ANSWER_TO_ONE


def test_parameters_for_others_are_named_once_in_the_log(load: Any) -> None:
    model = load(PICK | {"parameters": parameters(charset="abc", intra_op_thread_count="1", buckets="320")})
    model.execute([ONE])
    (line,) = Logger.lines
    assert line.startswith("test_0_0: onnxruntime ")
    assert line.endswith(" on CPUExecutionProvider; parameters that are none of its options: buckets, charset")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("", "onnx runtime error 1: "),
        ("no prefix", "onnx runtime error 1: no prefix"),
        (
            "[ONNXRuntimeError] : 1 : FAIL : Available memory of 8 is smaller than requested bytes of 9",
            "onnx runtime error 1: Available memory of 8 is smaller than requested bytes of 9",
        ),
        ("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : two\nlines", "onnx runtime error 6: two\nlines"),
    ],
)
def test_errors_read_as_those_of_the_cpp_backend(backend: Any, message: str, text: str) -> None:
    assert backend.error_text(RuntimeError(message)) == text


@given(rows=st.lists(st.integers(1, 5), min_size=1, max_size=6), columns=st.integers(0, 3))
def test_splitting_undoes_concatenation(backend: Any, rows: list[int], columns: int) -> None:
    pieces = [np.full((count, columns), number) for number, count in enumerate(rows)]
    again = backend.split_rows(np.concatenate(pieces), rows)
    assert [piece.tolist() for piece in again] == [piece.tolist() for piece in pieces]


@pytest.mark.parametrize("array", [np.float32(1), np.zeros(2), np.zeros((4, 3))])
def test_an_output_with_another_number_of_rows_is_not_split(backend: Any, array: Array) -> None:
    with pytest.raises(ValueError, match="can't be split into 3 rows"):
        backend.split_rows(np.asarray(array), [1, 2])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.arange(6).reshape(2, 3).T,
        np.broadcast_to(np.arange(3, dtype=np.uint8), (2, 3)),
        np.zeros((0, 3), np.float32),
    ],
    ids=["plain", "transposed", "read only", "empty"],
)
def test_any_array_can_be_handed_over(backend: Any, array: Array) -> None:
    handed = backend.to_tensor("name", array).array
    assert handed.dtype == array.dtype
    assert handed.tolist() == array.tolist()
