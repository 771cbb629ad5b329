"""The Python-based backend and the server process on a real tritonserver, with tiny models made here."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import psutil
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from triton_models.preconditions import PreconditionError
from triton_models.processes import group_members
from triton_models.runtime import TritonRuntime
from triton_models.server import Ports, TritonProcess, TritonStartError, command_line

# The first test may install Triton, which takes minutes on a slow network.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

Array = npt.NDArray[Any]
INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("uint", "int") for bits in (8, 16, 32, 64)]
FLOATS = [np.dtype(f"float{bits}") for bits in (16, 32, 64)]
DTYPES = [np.dtype("bool"), *INTEGERS, *FLOATS]
# Long enough that two requests sent one after the other always share an execution; a full batch does not wait.
QUEUE_DELAY = "dynamic_batching { max_queue_delay_microseconds: 6000000 }"


def as_model(
    nodes: Sequence[onnx.NodeProto], inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def pick_graph() -> onnx.ModelProto:
    """doubled = x + x, picked = x[row, index]; a run fails where an index is out of range."""
    return as_model(
        [
            helper.make_node("Add", ["x", "x"], ["doubled"]),
            helper.make_node("GatherElements", ["x", "index"], ["picked"], axis=1),
        ],
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "columns"]),
            helper.make_tensor_value_info("index", TensorProto.INT64, ["rows", 1]),
        ],
        [
            helper.make_tensor_value_info("doubled", TensorProto.FLOAT, ["rows", "columns"]),
            helper.make_tensor_value_info("picked", TensorProto.FLOAT, ["rows", 1]),
        ],
    )


def weigh_graph() -> onnx.ModelProto:
    """y = x @ w, where the configuration allows a width that the graph can't multiply."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, [3, 1], [1, 10, 100])
    model = as_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "columns"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1])],
    )
    model.graph.initializer.append(weights)
    return model


def copy_graph() -> onnx.ModelProto:
    """One output per input and one of each type that the backend knows."""
    names = [dtype.name for dtype in DTYPES]
    types = [helper.np_dtype_to_tensor_dtype(dtype) for dtype in DTYPES]
    pairs = list(zip(names, types, strict=True))
    return as_model(
        [helper.make_node("Identity", [name], [f"{name}_copy"]) for name in names],
        [helper.make_tensor_value_info(name, kind, ["rows", "columns"]) for name, kind in pairs],
        [helper.make_tensor_value_info(f"{name}_copy", kind, ["rows", "columns"]) for name, kind in pairs],
    )


def tensors(kind: str, **types_and_dims: tuple[str, int]) -> str:
    entries = (
        f'{{ name: "{name}" data_type: TYPE_{data_type} dims: [ {dim} ] }}'
        for name, (data_type, dim) in types_and_dims.items()
    )
    return f"{kind} [ {', '.join(entries)} ]"


def add_model(repository: Path, name: str, graph: onnx.ModelProto, *config: str, file: str = "model.onnx") -> None:
    """Write a model with its configuration, on the CPU."""
    folder = repository / name
    (folder / "1").mkdir(parents=True)
    onnx.save(graph, folder / "1" / file)
    lines = [f'name: "{name}"', 'backend: "onnxruntime"', "instance_group [ { kind: KIND_CPU count: 1 } ]", *config]
    (folder / "config.pbtxt").write_text("\n".join(lines) + "\n")


PICK_INPUTS = tensors("input", x=("FP32", -1), index=("INT64", 1))
PICK_OUTPUTS = tensors("output", doubled=("FP32", -1), picked=("FP32", 1))


def add_models(repository: Path) -> None:
    add_model(repository, "pick", pick_graph(), "max_batch_size: 2", QUEUE_DELAY, PICK_INPUTS, PICK_OUTPUTS)
    weigh = (tensors("input", x=("FP32", -1)), tensors("output", y=("FP32", 1)))
    add_model(repository, "weigh", weigh_graph(), "max_batch_size: 2", "dynamic_batching { }", *weigh)
    names = {dtype.name: np_to_triton_dtype(dtype) for dtype in DTYPES}
    inputs = tensors("input", **{name: (data_type, -1) for name, data_type in names.items()})
    outputs = tensors("output", **{f"{name}_copy": (data_type, -1) for name, data_type in names.items()})
    other_name = 'default_model_filename: "copy.onnx"'
    add_model(repository, "copy", copy_graph(), "max_batch_size: 8", other_name, inputs, outputs, file="copy.onnx")


class Client:
    """Sends named arrays, waits for named arrays."""

    def __init__(self, address: str) -> None:
        self.rpc = triton.InferenceServerClient(address)

    def send(self, model: str, inputs: dict[str, Array]) -> Future[dict[str, Array]]:
        future: Future[dict[str, Array]] = Future()

        def done(result: triton.InferResult | None, error: InferenceServerException | None) -> None:
            if error is not None:
                future.set_exception(error)
            else:
                names = [output.name for output in result.get_response().outputs]
                future.set_result({name: result.as_numpy(name) for name in names})

        self.rpc.async_infer(model, [as_input(name, array) for name, array in inputs.items()], done, client_timeout=60)
        return future

    def infer(self, model: str, inputs: dict[str, Array]) -> dict[str, Array]:
        return self.send(model, inputs).result()

    def executions(self, model: str) -> int:
        statistics = self.rpc.get_inference_statistics(model)
        return int(statistics.model_stats[0].execution_count)


def as_input(name: str, array: Array) -> triton.InferInput:
    tensor = triton.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    tensor.set_data_from_numpy(array)
    return tensor


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    add_models(folder)
    return folder


@pytest.fixture(scope="module")
def server(triton_runtime: TritonRuntime, repository: Path) -> Iterator[TritonProcess]:
    log = repository.parent / "triton.log"
    with TritonProcess(triton_runtime, repository, log_file=log, ports=Ports.free()) as process:
        yield process


@pytest.fixture
def client(server: TritonProcess) -> Iterator[Client]:
    client = Client(server.grpc_address)
    yield client
    client.rpc.close()


@pytest.fixture
def small(tmp_path: Path, triton_runtime: TritonRuntime) -> Iterator[TritonProcess]:
    """A server with one small model, not started yet, for tests that end it."""
    add_model(tmp_path / "models", "pick", pick_graph(), "max_batch_size: 2", PICK_INPUTS, PICK_OUTPUTS)
    process = TritonProcess(triton_runtime, tmp_path / "models", log_file=tmp_path / "log", ports=Ports.free())
    yield process
    process.stop()


def pick(x: Sequence[Sequence[float]], index: Sequence[int]) -> dict[str, Array]:
    return {"x": np.array(x, np.float32), "index": np.array(index, np.int64)[:, None]}


def assert_equal(answer: dict[str, Array], expected: dict[str, Array]) -> None:
    """Same names, types, shapes and bits."""
    assert answer.keys() == expected.keys()
    for name, array in expected.items():
        assert answer[name].dtype == array.dtype
        assert answer[name].shape == array.shape
        assert answer[name].tobytes() == array.tobytes()


def directly(repository: Path, inputs: dict[str, Array]) -> dict[str, Array]:
    """What ONNX Runtime answers in this process."""
    session = ort.InferenceSession(repository / "pick" / "1" / "model.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def shared_names(prefix: str) -> list[str]:
    return [path.name for path in Path("/dev/shm").iterdir() if path.name.startswith(prefix)]


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def counted(client: Client, model: str, *, since: int) -> int:
    """How often it was run; Triton counts that a moment after it has answered."""
    assert eventually(lambda: client.executions(model) > since)
    return client.executions(model) - since


def test_merged_requests_get_what_onnxruntime_answers_each(client: Client, repository: Path) -> None:
    generator = np.random.default_rng(1)
    requests = [{"x": generator.random((1, 5), np.float32), "index": np.array([[number]])} for number in (3, 0)]
    before = client.executions("pick")
    sent = [client.send("pick", inputs) for inputs in requests]
    for inputs, answer in zip(requests, sent, strict=True):
        assert_equal(answer.result(), directly(repository, inputs))
    assert counted(client, "pick", since=before) == 1


def test_a_request_that_fails_the_merged_run_fails_alone(client: Client) -> None:
    before = client.executions("pick")
    bad, good = client.send("pick", pick([[1, 2]], [9])), client.send("pick", pick([[3, 4]], [1]))
    with pytest.raises(InferenceServerException) as caught:
        bad.result()
    assert caught.value.status() == "StatusCode.INTERNAL"
    assert re.match(r"onnx runtime error \d+: .*GatherElements", caught.value.message())
    assert good.result()["picked"].tolist() == [[4]]
    assert counted(client, "pick", since=before) == 1


def test_a_shape_that_the_graph_refuses_is_that_requests_error(client: Client) -> None:
    too_wide, right = np.ones((1, 4), np.float32), np.ones((1, 3), np.float32)
    answers = [client.send("weigh", {"x": x}) for x in (right, too_wide, right)]
    with pytest.raises(InferenceServerException, match=r"onnx runtime error \d+: ") as caught:
        answers[1].result()
    assert caught.value.status() == "StatusCode.INTERNAL"
    assert [answers[0].result()["y"].tolist(), answers[2].result()["y"].tolist()] == [[[111]], [[111]]]


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({}, "expected 2 inputs but got 0"),
        ({"x": np.ones((1, 2), np.float64), "index": np.zeros((1, 1), np.int64)}, "data-type is 'FP64'"),
        ({"x": np.ones((1, 2), np.float32), "index": np.zeros((1, 2), np.int64)}, "unexpected shape"),
        ({"x": np.ones((3, 2), np.float32), "index": np.zeros((3, 1), np.int64)}, "batch-size must be <= 2"),
    ],
    ids=["no inputs", "type", "shape", "batch"],
)
def test_what_the_configuration_forbids_never_reaches_the_model(
    client: Client, inputs: dict[str, Array], complaint: str
) -> None:
    with pytest.raises(InferenceServerException, match=complaint) as caught:
        client.infer("pick", inputs)
    assert caught.value.status() == "StatusCode.INVALID_ARGUMENT"


@pytest.mark.parametrize("shape", [(1, 1), (2, 7), (8, 1000), (3, 0)])
def test_every_type_passes_unharmed(client: Client, shape: tuple[int, int]) -> None:
    """Also under numpy 2, where Triton's own conversions go wrong without an error."""
    bits = np.random.default_rng(2).integers(0, 2, shape)
    arrays = {dtype.name: bits.astype(dtype) for dtype in DTYPES}
    expected = {f"{name}_copy": array for name, array in arrays.items()}
    assert_equal(client.infer("copy", arrays), expected)


def test_the_greatest_and_least_values_pass_unharmed(client: Client) -> None:
    limits = {dtype: np.iinfo(dtype) for dtype in INTEGERS} | {dtype: np.finfo(dtype) for dtype in FLOATS}
    arrays = {dtype.name: np.array([[limit.min, limit.max]], dtype) for dtype, limit in limits.items()}
    arrays["bool"] = np.array([[False, True]])
    assert_equal(client.infer("copy", arrays), {f"{name}_copy": array for name, array in arrays.items()})


def test_frequent_keepalive_pings_do_not_end_a_long_call(server: TritonProcess) -> None:
    """With gRPC's defaults the server ends the connection after a few of them; with these, in 3.3 s."""
    pings = [
        ("grpc.keepalive_time_ms", 300),
        ("grpc.keepalive_timeout_ms", 1000),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    client = Client(server.grpc_address)
    client.rpc = triton.InferenceServerClient(server.grpc_address, channel_args=pings)
    waits_for_a_second_request = client.send("pick", pick([[1, 2]], [1]))
    assert waits_for_a_second_request.result()["picked"].tolist() == [[2]]


def test_every_flag_is_one_that_the_server_documents(triton_runtime: TritonRuntime, repository: Path) -> None:
    command = [str(triton_runtime.server), "--help"]
    environment = triton_runtime.environment(os.environ)
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    documented = set(re.findall(r"^\s+(--[a-z0-9-]+)", shown.stdout + shown.stderr, re.MULTILINE))
    used = command_line(triton_runtime, repository, Ports(), shm_prefix="p", model_config_name="cpu")[1:]
    assert {flag.partition("=")[0] for flag in used} <= documented


def test_nothing_is_left_after_a_stop(small: TritonProcess) -> None:
    small.start()
    small.wait_ready()
    pid = small.pid
    assert len(group_members(pid)) == 2, "the server and one stub"
    assert len(shared_names(small.shm_prefix)) == 2, "the lock and one region"
    small.stop()
    assert group_members(pid) == []
    assert shared_names(small.shm_prefix) == []


def test_a_frozen_server_is_stopped_too(small: TritonProcess) -> None:
    small.start()
    small.wait_ready()
    pid = small.pid
    os.killpg(pid, signal.SIGSTOP)
    small.stop()
    assert group_members(pid) == []


STARTER = """
import sys, time
from pathlib import Path
from triton_models.runtime import install_runtime
from triton_models.server import Ports, TritonProcess
root, repository, log = map(Path, sys.argv[1:])
server = TritonProcess(install_runtime(root, print), repository, log_file=log, ports=Ports.free())
server.start()
server.wait_ready()
print(server.pid, flush=True)
time.sleep(600)
"""


def test_server_and_stubs_die_with_a_starter_that_is_killed(small: TritonProcess, tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / ".local" / "triton"
    arguments = [root, tmp_path / "models", tmp_path / "log"]
    with subprocess.Popen([sys.executable, "-c", STARTER, *arguments], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert len(group_members(pid)) == 2
        starter.kill()
    assert eventually(lambda: group_members(pid) == [])


def test_servers_live_side_by_side(small: TritonProcess, client: Client) -> None:
    with small:
        other = Client(small.grpc_address)
        for each in (client, other):
            assert each.infer("pick", pick([[1, 2], [3, 4]], [0, 1]))["picked"].tolist() == [[1], [4]]
        other.rpc.close()


def test_a_model_that_can_not_be_loaded_is_the_reason_given(small: TritonProcess, tmp_path: Path) -> None:
    (tmp_path / "models" / "pick" / "1" / "model.onnx").unlink()
    expected = (
        r"failed to load 'pick' version 1: Internal: ConfigurationError: unable to find '.*/1/model.onnx' \(log: "
    )
    with pytest.raises(TritonStartError, match=expected), small:
        pass


def test_a_configuration_that_can_not_be_read_is_the_reason_given(small: TritonProcess, tmp_path: Path) -> None:
    with (tmp_path / "models" / "pick" / "config.pbtxt").open("a") as config:
        config.write("bogus: 1\n")
    expected = r"no field named \"bogus\"\..*Poll failed for model directory 'pick'"
    with pytest.raises(TritonStartError, match=expected), small:
        pass


def test_a_port_that_another_server_has_is_named(small: TritonProcess, server: TritonProcess) -> None:
    small.ports = server.ports
    with pytest.raises(PreconditionError, match=rf"port {server.ports.http} on 127.0.0.1 is taken"):
        small.start()


def test_nothing_listens_beyond_the_loopback_interface(server: TritonProcess) -> None:
    connections = psutil.Process(server.pid).net_connections(kind="inet")
    listening = [each.laddr for each in connections if each.status == psutil.CONN_LISTEN]
    ports = server.ports
    assert sorted(address.port for address in listening) == sorted([ports.http, ports.grpc, ports.metrics])
    assert {address.ip for address in listening} <= {"127.0.0.1", "::ffff:127.0.0.1"}
