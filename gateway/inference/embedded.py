"""The backend that runs ONNX Runtime in the gateway's own process, for machines where Triton can't run.

It reads the model repository that Triton would and shares contract and codecs with `TritonBackend`: same text.
"""

import asyncio
import importlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol, Self, cast

import numpy as np
from grpc import StatusCode
from numpy.typing import NDArray

from gateway.errors import ContractError, InferenceTimeout
from gateway.inference.calls import ModelBackend, Run
from gateway.inference.codecs import Tensors
from gateway.inference.configs import read_contract
from gateway.inference.contract import Contract
from gateway.inference.failures import CLOSED, failure, meaning_of, translated
from gateway.inference.repository import StoredModel, read_models


class RunOptions(Protocol):
    """`onnxruntime.RunOptions`: setting `terminate` ends the run that it was given to, at its next node."""

    terminate: bool


class Session(Protocol):
    """`onnxruntime.InferenceSession`, as far as it is used."""

    def run(
        self, output_names: list[str], input_feed: Mapping[str, NDArray[np.generic]], run_options: RunOptions
    ) -> list[NDArray[np.generic]]:
        """The named outputs, in order."""


class OnnxRuntime:
    """The library, imported when it is needed: it is an extra of the package, and slow to import.

    Attributes:
        errors: everything that its calls raise.
    """

    def __init__(self) -> None:
        """Import it.

        Raises:
            ImportError: it is not installed.
        """
        try:
            self._library = importlib.import_module("onnxruntime")
            bindings = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
        except ImportError as error:
            raise ImportError("the embedded backend needs ONNX Runtime: pip install 'ocr-gateway[embedded]'") from error
        own = [kind for kind in vars(bindings).values() if isinstance(kind, type) and issubclass(kind, Exception)]
        # The bindings turn std::bad_alloc and other exceptions of C++ into Python's own.
        self.errors: tuple[type[Exception], ...] = (*own, MemoryError, RuntimeError)
        self._invalid_argument: type[Exception] = bindings.InvalidArgument

    def load(self, model: StoredModel, threads: int) -> Session:
        """A session on the CPU whose runs share so many threads.

        Raises:
            ContractError: the file can't be loaded, or has other tensors than its configuration says.
        """
        options = self._library.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # as Triton's models are configured
        try:
            session = self._library.InferenceSession(model.file, options, providers=["CPUExecutionProvider"])
        except self.errors as error:
            raise ContractError(f"{model.file} can't be loaded: {error}") from error
        config = model.served.config
        for described, found in ((config.input, session.get_inputs()), (config.output, session.get_outputs())):
            _require_tensors(model, {one.name for one in described}, {one.name for one in found})
        return cast("Session", session)

    def run_options(self) -> RunOptions:
        """Options of one run."""
        return cast("RunOptions", self._library.RunOptions())

    def status_of(self, error: Exception) -> StatusCode:
        """The code that Triton would answer this error with."""
        return StatusCode.INVALID_ARGUMENT if isinstance(error, self._invalid_argument) else StatusCode.INTERNAL


class EmbeddedBackend(ModelBackend):
    """Models in this process. Loading them is `refresh`; it takes seconds, on a thread."""

    def __init__(
        self,
        repository: Path,
        *,
        threads: int = 0,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
    ) -> None:
        """Prepare; nothing is loaded yet.

        Args:
            repository: a model repository, such as Triton serves.
            threads: that each model's runs share, and how many runs there are at once; 0 for one per core.
            detection_model: the model's name; that of one model per shape goes on with the shape, `_h736_w736`.
            recognition_model: as detection_model, `_w320_r8`.

        Raises:
            ImportError: ONNX Runtime is not installed.
        """
        super().__init__()
        self._library = OnnxRuntime()
        self._repository = repository
        self._threads = threads or os.cpu_count() or 1
        self._detection_model = detection_model
        self._recognition_model = recognition_model
        self._loading = asyncio.Lock()
        self._sessions: Mapping[str, Session] = {}
        self._runs: set[RunOptions] = set()
        self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix="onnxruntime")
        self._closed = False

    @classmethod
    async def open(
        cls,
        repository: Path,
        *,
        threads: int = 0,
        detection_model: str = "text_detection",
        recognition_model: str = "text_recognition",
    ) -> Self:
        """A backend whose models are loaded; arguments and errors as of `__init__` and `refresh`."""
        backend = cls(repository, threads=threads, detection_model=detection_model, recognition_model=recognition_model)
        await backend.refresh()
        return backend

    async def refresh(self) -> None:
        """Load the models, once: they can't change under a process that holds them."""
        async with self._loading:
            if self._contract is None:
                self._sessions, self._contract = await asyncio.to_thread(self._load)

    async def wait_for_return(self) -> None:
        """Nothing goes away, so nothing returns."""

    async def run(self, run: Run) -> Tensors:
        """One run on a thread. It ends soon after its deadline, or after its task was cancelled."""
        if self._closed:
            raise failure(run.model, CLOSED)
        options = self._library.run_options()
        work = partial(self._sessions[run.model].run, list(run.outputs), run.inputs, options)
        self._runs.add(options)
        try:
            with translated(run.model):
                async with asyncio.timeout(run.timeout_s):
                    values = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except TimeoutError as error:
            raise InferenceTimeout(f"{run.model}: no answer in time") from error
        except self._library.errors as error:
            raise failure(run.model, meaning_of(self._library.status_of(error), str(error))) from error
        finally:
            self._runs.remove(options)
            options.terminate = True
        return dict(zip(run.outputs, values, strict=True))

    async def close(self) -> None:
        """End the runs under way and drop those that wait for a thread."""
        self._closed = True
        for options in self._runs:
            options.terminate = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _load(self) -> tuple[Mapping[str, Session], Contract]:
        detection = read_models(self._repository, self._detection_model)
        recognition = read_models(self._repository, self._recognition_model)
        contract = read_contract(
            detection=[model.served for model in detection], recognition=[model.served for model in recognition]
        )
        models = (*detection, *recognition)
        return {model.name: self._library.load(model, self._threads) for model in models}, contract


def _require_tensors(model: StoredModel, described: set[str], found: set[str]) -> None:
    if described != found:
        raise ContractError(
            f"{model.name} is configured with the tensors {sorted(described)}, but {model.file} has {sorted(found)}"
        )
