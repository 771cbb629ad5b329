"""What runs the models of a variant: ONNX Runtime as ever, or OpenVINO in a given precision.

Both stand behind the seam that the embedded backend has, so everything else of the gateway is the same.
"""

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from grpc import StatusCode
from numpy.typing import NDArray

from gateway.inference.embedded import EmbeddedBackend, OnnxRuntime, RunOptions, Session
from gateway.inference.repository import StoredModel
from triton_models.configs import OPENVINO_SHAPES_KEPT


def add_packages(environment: Path) -> None:
    """Let this program import what is in a virtual environment and not in its own."""
    sys.path += map(str, environment.glob("lib/python3*/site-packages"))


class OpenVino:
    """OpenVINO behind the embedded backend's seam.

    Args:
        precision: that it may compute in: f32, bf16 or f16; weights stay as they are in the file.
    """

    errors: tuple[type[Exception], ...] = (RuntimeError, MemoryError)

    def __init__(self, precision: str) -> None:
        self._core = importlib.import_module("openvino").Core()
        self._hints = {
            "INFERENCE_PRECISION_HINT": precision,
            "NUM_STREAMS": 1,
            "CPU_RUNTIME_CACHE_CAPACITY": OPENVINO_SHAPES_KEPT,
        }

    def load(self, model: StoredModel, threads: int) -> Session:
        """A model that is compiled; one run at a time has all threads."""
        hints = {**self._hints, "INFERENCE_NUM_THREADS": threads}
        return Compiled(self._core.compile_model(str(model.file), "CPU", hints))

    def run_options(self) -> RunOptions:
        """None: a run ends when it ends."""
        return Unread()

    def status_of(self, _: Exception) -> StatusCode:
        """The code of every failure."""
        return StatusCode.INTERNAL


@dataclass(eq=False)
class Unread:
    """Options of one run that nothing reads."""

    terminate: bool = False


class Compiled:
    """A compiled model as a session; each run has a request of its own."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a type of a library without types
        self._model = model

    def run(
        self, output_names: list[str], input_feed: Mapping[str, NDArray[np.generic]], _: RunOptions
    ) -> list[NDArray[np.generic]]:
        """The named outputs, in order; copies, since the request's own memory is used again."""
        answer = self._model.create_infer_request().infer(dict(input_feed))
        return [np.array(answer[self._model.output(name)]) for name in output_names]


class VariantBackend(EmbeddedBackend):
    """The embedded backend with another library.

    Args:
        repository: of the models.
        library: that runs them.
    """

    def __init__(self, repository: Path, library: OpenVino | OnnxRuntime) -> None:
        super().__init__(repository, threads=os.cpu_count() or 1)
        self._library: Any = library
