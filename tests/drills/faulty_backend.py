"""The project's ONNX Runtime backend with a switch: while the file `fault.json` lies beside a model, its runs go wrong.

Staged as `model.py` beside the real one, which keeps another name; Triton's stub imports it by path.
"""

import importlib.util
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PATH = Path(__file__).with_name("real_model.py")
_SPEC = importlib.util.spec_from_file_location("real_model", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
real = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(real)

# As ONNX Runtime says it when its arena is at its limit.
NO_MEMORY = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv node. "
    "Name:'Conv.3' Status Message: bfc_arena.cc:376 AllocateRawInternal Available memory of {limit} is smaller than "
    "requested bytes of {size}"
)
FAILED = "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Add node. Name:'Add.7'"


class TritonPythonModel(real.TritonPythonModel):  # type: ignore[name-defined,misc]  # a module of this moment
    """One instance of a model whose runs can be made to go wrong."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """As the real one."""
        super().initialize(args)
        self._fault_file = Path(args["model_repository"]) / "fault.json"

    def _run(self, feed: Mapping[str, Any]) -> Any:
        fault = read_fault(self._fault_file)
        time.sleep(fault.get("slow_s", 0.0))
        if "fail" in fault:
            raise RuntimeError(FAILED)
        size = sum(tensor.nbytes for tensor in feed.values())
        if size > (limit := fault.get("memory_bytes", size)):
            raise RuntimeError(NO_MEMORY.format(limit=limit, size=size))
        return super()._run(feed)


def read_fault(path: Path) -> dict[str, Any]:
    """What is to go wrong; nothing if there is no file."""
    try:
        fault: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return fault
