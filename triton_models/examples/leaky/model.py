"""A model that leaks: it keeps a copy of 64 kB for every request, as a cache without an end does."""

from collections.abc import Mapping, Sequence

import triton_python_backend_utils as pb_utils
from memory_monitor import MemoryMonitor


class TritonPythonModel:
    """Answers what it is given."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Begin to watch."""
        self._memory = MemoryMonitor(args, pb_utils)
        self._seen: list[bytearray] = []

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer each request, watched."""
        with self._memory.watching(len(requests)):
            return [self._answer(request) for request in requests]

    def _answer(self, request: object) -> object:
        self._seen.append(bytearray(b"x" * 65_536))
        x = pb_utils.get_input_tensor_by_name(request, "x")
        return pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", x.to_dlpack())])
