"""ONNX Runtime's sessions on the GPU, without Triton, for `sessions`, `instances` and `memory`.

Run where onnxruntime-gpu is; without a GPU the same code runs on the CPU, for trying it out.
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

LINE_HEIGHT = 48
SESSION_ENTRY_PREFIX = "optimization."
ERRORS: tuple[type[Exception], ...] = (
    *(kind for kind in vars(ort_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
    RuntimeError,
)
"""Whatever a session raises."""

Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Case:
    """One model at one shape.

    Attributes:
        label: what is compared: "top1", "float16", "original", ...
        file: the ONNX file.
        shape: of the input, the batch first.
        options: of the CUDA execution provider, besides the device, and of the session, by their prefix.
    """

    label: str
    file: Path
    shape: tuple[int, ...]
    options: Mapping[str, str] = field(default_factory=dict)


class SlowSessionError(Exception):
    """The session is not on the GPU."""


def on_gpu() -> bool:
    """Whether this ONNX Runtime can use a GPU."""
    return "CUDAExecutionProvider" in ort.get_available_providers()


def open_session(file: Path, options: Mapping[str, str]) -> ort.InferenceSession:
    """A session on the GPU if there can be one.

    Raises:
        SlowSessionError: ONNX Runtime has a GPU provider and did not use it.
    """
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = 1
    for name, value in options.items():
        if name.startswith(SESSION_ENTRY_PREFIX):
            settings.add_session_config_entry(name, value)
    if not on_gpu():
        return ort.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    cuda = {"device_id": "0", "cudnn_conv_algo_search": "HEURISTIC"}
    cuda |= {name: value for name, value in options.items() if not name.startswith(SESSION_ENTRY_PREFIX)}
    providers = [("CUDAExecutionProvider", cuda), "CPUExecutionProvider"]
    session = ort.InferenceSession(file, settings, providers=providers, enable_fallback=0)
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise SlowSessionError(f"{file} runs on {session.get_providers()[0]}")
    return session


def random_input(session: ort.InferenceSession, shape: Sequence[int], seed: int = 0) -> dict[str, Array]:
    """An input that is nothing in particular, but not zeros, on which some GPUs are faster."""
    (node,) = session.get_inputs()
    rng = np.random.default_rng(seed)
    if node.type == "tensor(uint8)":
        return {node.name: rng.integers(0, 256, shape, np.uint8)}
    return {node.name: rng.standard_normal(shape, np.float32)}


def median_ms(run: Callable[[], object], seconds: float) -> float:
    """The median of repeated runs, after two that do not count."""
    run(), run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return round(1000 * statistics.median(times), 3)


def timed_ms(run: Callable[[], object]) -> float:
    """One run."""
    started = time.perf_counter()
    run()
    return round(1000 * (time.perf_counter() - started), 1)


def bound_run(session: ort.InferenceSession, feed: Mapping[str, Array]) -> Callable[[], object]:
    """A run whose input and outputs stay on the GPU, so that only the model is timed."""
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
    for node in session.get_outputs():
        binding.bind_output(node.name, "cuda", 0)
    return lambda: session.run_with_iobinding(binding)


def graph_run(session: ort.InferenceSession, feed: Mapping[str, Array]) -> Callable[[], list[Array]]:
    """A run of a session with CUDA graphs, which want all tensors at fixed places; from numpy to numpy."""
    outputs = session.run(None, dict(feed))
    binding = session.io_binding()
    values = {name: ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0) for name, array in feed.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    places = [ort.OrtValue.ortvalue_from_shape_and_type(array.shape, array.dtype.type, "cuda", 0) for array in outputs]
    for node, place in zip(session.get_outputs(), places, strict=True):
        binding.bind_ortvalue_output(node.name, place)

    def run() -> list[Array]:
        for name, array in feed.items():
            values[name].update_inplace(array)
        session.run_with_iobinding(binding)
        return [place.numpy() for place in places]

    return run
