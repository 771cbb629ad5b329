"""A backend named `onnxruntime` in Python, for the pip-installed Triton, which comes without NVIDIA's in C++.

Triton looks for `libtriton_onnxruntime.so` first and for this file second, so one model repository serves both. This
one does as the other where it can: names of options, checks of the configuration at load, texts of errors.

A merged batch is run at once and its answers are split. Should that fail, every request is run alone, so that a bad one
fails by itself. Nothing is kept between calls.

Staged a second time as the backend `openvino_python`, it runs the same files with OpenVINO instead, on the CPU
(docs/decisions/0026-variants-on-cpus.md). OpenVINO is imported there alone.

Tensors cross the border to Triton by DLPack in both directions. The stub was built against numpy 1, and under numpy 2
its `as_numpy` returns wrong values and its `Tensor(name, array)` sends nothing, both without an error; DLPack is right
under either.

This file is copied into a backend directory and imported by Triton's stub: it can't import its siblings.
"""

import ctypes
import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import triton_python_backend_utils as pb_utils
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

Array = npt.NDArray[Any]
Parameters = Mapping[str, str]

# Whatever a run can raise: ONNX Runtime's own, those of its binding, and a split that does not come out even.
RUN_ERRORS: tuple[type[Exception], ...] = (
    *(kind for kind in vars(ort_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
    RuntimeError,
    ValueError,
    MemoryError,
)
ORT_MESSAGE = re.compile(r"\[ONNXRuntimeError\] : (?P<code>\d+) : \w+ : (?P<text>.*)", re.DOTALL)

ONNX_TYPES = {
    "TYPE_BOOL": "tensor(bool)",
    "TYPE_UINT8": "tensor(uint8)",
    "TYPE_UINT16": "tensor(uint16)",
    "TYPE_UINT32": "tensor(uint32)",
    "TYPE_UINT64": "tensor(uint64)",
    "TYPE_INT8": "tensor(int8)",
    "TYPE_INT16": "tensor(int16)",
    "TYPE_INT32": "tensor(int32)",
    "TYPE_INT64": "tensor(int64)",
    "TYPE_FP16": "tensor(float16)",
    "TYPE_FP32": "tensor(float)",
    "TYPE_FP64": "tensor(double)",
}

# `optimization { graph { level } }`, as the C++ backend reads it.
GRAPH_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    0: ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
EXECUTION_MODES = {"0": ort.ExecutionMode.ORT_SEQUENTIAL, "1": ort.ExecutionMode.ORT_PARALLEL}
SWITCH = {"0": False, "1": True, "false": False, "true": True}
SESSION_SETTERS: dict[str, Callable[[ort.SessionOptions, str], None]] = {
    "intra_op_thread_count": lambda options, text: setattr(options, "intra_op_num_threads", int(text)),
    "inter_op_thread_count": lambda options, text: setattr(options, "inter_op_num_threads", int(text)),
    "execution_mode": lambda options, text: setattr(options, "execution_mode", EXECUTION_MODES[text]),
    "enable_mem_arena": lambda options, text: setattr(options, "enable_cpu_mem_arena", SWITCH[text.lower()]),
    "enable_mem_pattern": lambda options, text: setattr(options, "enable_mem_pattern", SWITCH[text.lower()]),
}
# Passed through to ONNX Runtime under their own names; the C++ backend ignores those that it does not know.
SESSION_ENTRY_PREFIXES = ("session.", "optimization.")
OPENVINO_BACKEND = "openvino_python"
OPENVINO_TYPES = {"u8": "tensor(uint8)", "i32": "tensor(int32)", "f32": "tensor(float)"}
# OpenVINO's own names of what may be configured.
OPENVINO_OPTIONS = ("INFERENCE_PRECISION_HINT", "INFERENCE_NUM_THREADS", "CPU_RUNTIME_CACHE_CAPACITY")
ARENA_SHRINKAGE = "memory.enable_memory_arena_shrinkage"
# The C++ backend takes numbers for these, ONNX Runtime's Python binding names.
CUDA_OPTIONS: dict[str, Mapping[str, str]] = {
    "cudnn_conv_algo_search": {"0": "EXHAUSTIVE", "1": "HEURISTIC", "2": "DEFAULT"},
    "arena_extend_strategy": {"0": "kNextPowerOfTwo", "1": "kSameAsRequested"},
    "gpu_mem_limit": {},
    "do_copy_in_default_stream": {},
}


class Node(Protocol):
    """A tensor of a graph: `onnxruntime.NodeArg`."""

    name: str
    type: str
    shape: Sequence[int | str]


class Session(Protocol):
    """The part of `onnxruntime.InferenceSession` that is used here."""

    def run(self, names: Sequence[str], feed: Mapping[str, Array], options: ort.RunOptions) -> list[Array]:
        """The named outputs, in order."""

    def get_inputs(self) -> Sequence[Node]:
        """What it takes."""

    def get_outputs(self) -> Sequence[Node]:
        """What it gives."""

    def get_providers(self) -> Sequence[str]:
        """Where it runs, first."""


class Request(Protocol):
    """The part of Triton's request object that is used here, besides its tensors."""

    def is_cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""


class ConfigurationError(Exception):
    """Model and configuration disagree; the model is not loaded."""


class TritonPythonModel:
    """One instance of a model; Triton makes one process for each."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the session.

        Raises:
            ConfigurationError: configuration and model disagree, or a GPU was asked for and is not used.
        """
        config = json.loads(args["model_config"])
        parameters = {name: value["string_value"] for name, value in config.get("parameters", {}).items()}
        device = int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else None
        self._session = open_engine(config, model_path(args, config), parameters, device)
        check_tensors(config, self._session)
        self._inputs = [tensor["name"] for tensor in config["input"]]
        self._outputs = [tensor["name"] for tensor in config["output"]]
        self._run_options = run_options(parameters)
        self._merges = config["max_batch_size"] > 0
        log_loaded(args, self._session, parameters)

    def execute(self, requests: Sequence[Request]) -> list[object]:
        """Answer each request, in order."""
        waiting = [not request.is_cancelled() for request in requests]
        answers = iter(self._answer(list(compress(requests, waiting))))
        return [next(answers) if waits else cancelled() for waits in waiting]

    def _answer(self, requests: Sequence[Request]) -> list[object]:
        feeds = [self._feed(request) for request in requests]
        if self._merges and len(feeds) > 1:
            try:
                return [self._response(arrays) for arrays in self._run_merged(feeds)]
            except RUN_ERRORS:
                # Someone's fault, but whose? Each alone will tell; and a smaller run may fit where this one did not.
                pass
        return [self._answer_alone(feed) for feed in feeds]

    def _answer_alone(self, feed: Mapping[str, Array]) -> object:
        try:
            return self._response(self._run(feed))
        except RUN_ERRORS as error:
            return pb_utils.InferenceResponse(
                error=pb_utils.TritonError(error_text(error), pb_utils.TritonError.INTERNAL)
            )

    def _feed(self, request: Request) -> dict[str, Array]:
        return {name: np.from_dlpack(pb_utils.get_input_tensor_by_name(request, name)) for name in self._inputs}

    def _run(self, feed: Mapping[str, Array]) -> list[Array]:
        outputs: list[Array] = self._session.run(self._outputs, feed, self._run_options)
        return outputs

    def _run_merged(self, feeds: Sequence[Mapping[str, Array]]) -> list[list[Array]]:
        """Per request, its rows of each output."""
        merged = {name: np.concatenate([feed[name] for feed in feeds]) for name in self._inputs}
        rows = [len(feed[self._inputs[0]]) for feed in feeds]
        pieces = [split_rows(output, rows) for output in self._run(merged)]
        return [list(arrays) for arrays in zip(*pieces, strict=True)]

    def _response(self, arrays: Sequence[Array]) -> object:
        tensors = [to_tensor(name, array) for name, array in zip(self._outputs, arrays, strict=True)]
        return pb_utils.InferenceResponse(output_tensors=tensors)


def model_path(args: Mapping[str, str], config: Mapping[str, Any]) -> Path:
    """Where the ONNX file of this version lies."""
    name = config.get("default_model_filename") or "model.onnx"
    return Path(args["model_repository"]) / args["model_version"] / name


def open_engine(config: Mapping[str, Any], path: Path, parameters: Parameters, device: int | None) -> Session:
    """The file, opened by the library that this backend stands for.

    Raises:
        ConfigurationError: see `open_session`.
    """
    if config.get("backend") == OPENVINO_BACKEND:
        return OpenVinoSession(path, parameters)
    session: Session = open_session(path, session_options(config, parameters), parameters, device)
    return session


def session_options(config: Mapping[str, Any], parameters: Parameters) -> ort.SessionOptions:
    """Options from the model's configuration, under the names that the C++ backend has for them."""
    options = ort.SessionOptions()
    options.log_severity_level = 3  # errors; warnings about initializers are the builder's business
    options.graph_optimization_level = GRAPH_LEVELS[
        int(config.get("optimization", {}).get("graph", {}).get("level", 0))
    ]
    for name, text in parameters.items():
        if name in SESSION_SETTERS:
            SESSION_SETTERS[name](options, text)
        elif name.startswith(SESSION_ENTRY_PREFIXES):
            options.add_session_config_entry(name, text)
    return options


def run_options(parameters: Parameters) -> ort.RunOptions:
    """Options of every run."""
    options = ort.RunOptions()
    if ARENA_SHRINKAGE in parameters:
        options.add_run_config_entry(ARENA_SHRINKAGE, parameters[ARENA_SHRINKAGE])
    return options


def open_session(
    path: Path, options: ort.SessionOptions, parameters: Parameters, device: int | None
) -> ort.InferenceSession:
    """A session on the GPU with this number, or on the CPU.

    Raises:
        ConfigurationError: there is no such file; or the session is not on the GPU, because a library is missing or the
            card is full. ONNX Runtime would go on with the CPU and say nothing.
    """
    if not path.is_file():
        raise ConfigurationError(f"unable to find '{path}'")
    if device is None:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    providers = [("CUDAExecutionProvider", cuda_options(parameters, device)), "CPUExecutionProvider"]
    session = ort.InferenceSession(path, options, providers=providers, enable_fallback=0)
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise ConfigurationError(f"GPU {device} was asked for, the session runs on {session.get_providers()[0]}")
    return session


@dataclass
class OpenVinoNode:
    """A tensor of a graph, described as ONNX Runtime would."""

    name: str
    type: str
    shape: Sequence[int | str]


class OpenVinoSession:
    """A model compiled by OpenVINO for the CPU; one call at a time has all threads."""

    def __init__(self, path: Path, parameters: Parameters) -> None:
        options = {name: parameters[name] for name in OPENVINO_OPTIONS if name in parameters}
        core = importlib.import_module("openvino").Core()
        self._model = core.compile_model(str(path), "CPU", {"NUM_STREAMS": "1", **options})
        self._request = self._model.create_infer_request()

    def run(self, names: Sequence[str], feed: Mapping[str, Array], _: ort.RunOptions) -> list[Array]:
        """The named outputs, in order; copies, because the next run writes where this one did."""
        answer = self._request.infer(dict(feed))
        return [np.array(answer[self._model.output(name)]) for name in names]

    def get_inputs(self) -> list[OpenVinoNode]:
        """What it takes."""
        return [openvino_node(port) for port in self._model.inputs]

    def get_outputs(self) -> list[OpenVinoNode]:
        """What it gives."""
        return [openvino_node(port) for port in self._model.outputs]

    def get_providers(self) -> list[str]:
        """The library and its precision."""
        return [f"OpenVINO in {self._model.get_property('INFERENCE_PRECISION_HINT').get_type_name()}"]


def openvino_node(port: Any) -> OpenVinoNode:  # noqa: ANN401 - a type of a library that need not be there
    """An input or output of a compiled model."""
    shape = ["any" if size.is_dynamic else size.get_length() for size in port.partial_shape]
    return OpenVinoNode(port.any_name, OPENVINO_TYPES[port.element_type.get_type_name()], shape)


def cuda_options(parameters: Parameters, device: int) -> dict[str, str]:
    """Options of the CUDA execution provider."""
    given = {name: parameters[name] for name in CUDA_OPTIONS if name in parameters}
    return {"device_id": str(device)} | {name: CUDA_OPTIONS[name].get(text, text) for name, text in given.items()}


def check_tensors(config: Mapping[str, Any], session: Session) -> None:
    """Compare the configuration with the graph, as the C++ backend does at load.

    Raises:
        ConfigurationError: a name, a type or a shape differs.
    """
    batch = [-1] if config["max_batch_size"] > 0 else []
    for kind, nodes in (("input", session.get_inputs()), ("output", session.get_outputs())):
        graph = {node.name: node for node in nodes}
        configured = {tensor["name"] for tensor in config[kind]}
        unfed = graph.keys() - configured if kind == "input" else set()
        if configured - graph.keys() or unfed:
            raise ConfigurationError(f"configuration has {kind}s {sorted(configured)}, the model {sorted(graph)}")
        for tensor in config[kind]:
            check_tensor(tensor, graph[tensor["name"]], batch, exact=kind == "output")


def check_tensor(tensor: Mapping[str, Any], node: Node, batch: list[int], *, exact: bool) -> None:
    """Compare one tensor of the configuration with its node in the graph.

    An input may be narrower in the configuration where the graph takes any size; an output may not.

    Raises:
        ConfigurationError: they differ.
    """
    data_type = tensor["data_type"]
    if ONNX_TYPES.get(data_type) != node.type:
        raise ConfigurationError(f"'{node.name}' is {data_type} in the configuration, {node.type} in the model")
    dims = batch + [int(dim) for dim in tensor["dims"]]
    shape = [dim if isinstance(dim, int) else -1 for dim in node.shape]
    same_rank = len(dims) == len(shape)
    if not same_rank or not all(
        have == want or (have == -1 and not exact) for want, have in zip(dims, shape, strict=True)
    ):
        raise ConfigurationError(f"'{node.name}' has shape {dims} in the configuration, {shape} in the model")


def log_loaded(args: Mapping[str, str], session: Session, parameters: Parameters) -> None:
    """Say once what runs where, and which parameters were not meant for ONNX Runtime."""
    known = {*SESSION_SETTERS, *CUDA_OPTIONS, *OPENVINO_OPTIONS, ARENA_SHRINKAGE}
    others = [name for name in sorted(parameters) if name not in known and not name.startswith(SESSION_ENTRY_PREFIXES)]
    pb_utils.Logger.log_info(
        f"{args['model_instance_name']}: onnxruntime {ort.__version__} on {session.get_providers()[0]}; "
        f"parameters that are none of its options: {', '.join(others) or 'none'}"
    )


def split_rows(array: Array, rows: Sequence[int]) -> list[Array]:
    """Cut along the first axis into pieces of so many rows.

    Raises:
        ValueError: the array has another number of rows; the graph mixes them.
    """
    if array.ndim == 0 or len(array) != sum(rows):
        raise ValueError(f"an output of shape {array.shape} can't be split into {sum(rows)} rows")
    return np.split(array, np.cumsum(rows)[:-1])


def error_text(error: BaseException) -> str:
    """The text that the C++ backend answers for the same failure."""
    match = ORT_MESSAGE.search(str(error))
    return f"onnx runtime error {match['code']}: {match['text']}" if match else f"onnx runtime error 1: {error}"


def cancelled() -> object:
    """The answer to a request that nobody waits for."""
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError("request was cancelled", pb_utils.TritonError.CANCELLED)
    )


_set_destructor = ctypes.pythonapi.PyCapsule_SetDestructor
_set_destructor.argtypes = [ctypes.py_object, ctypes.c_void_p]


def to_tensor(name: str, array: Array) -> object:
    """Hand an array over to Triton.

    Triton takes over what is in the capsule but renames it in a way that numpy's destructor does not know, so that it
    prints a traceback for every tensor. There is nothing left for the destructor to do; it is taken off.
    """
    if array.size == 0:
        # DLPack has no strides for it that both numpy and Triton call contiguous. Nothing is what has to be sent.
        return pb_utils.Tensor(name, array)
    capsule = np.require(array, requirements=["C", "W"]).__dlpack__()
    _set_destructor(capsule, None)
    return pb_utils.Tensor.from_dlpack(name, capsule)
