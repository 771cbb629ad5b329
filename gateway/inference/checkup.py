"""Whether a Triton works, found out in the only way that tells: by running its models, here on a few black pixels.

Its own health stays green when a model's process has died (docs/operations.md). Whether the models read rightly is
another question, which `gateway.canary` asks.
"""

import numpy as np

from gateway.errors import Overloaded
from gateway.inference.backend import Backend
from gateway.inference.triton import TritonBackend


async def check_up(address: str, *, answer_s: float = 2.0, finish_s: float = 20.0) -> None:
    """Return if both models run, on a connection of its own.

    Args:
        address: host:port of Triton's gRPC API.
        answer_s: how long a question may take that needs no model; a busy server answers as quickly as an idle one.
        finish_s: how long a model may take, with the wait for its turn; a busy server lets everybody wait.

    Raises:
        OcrError: one does not, and why.
    """
    backend = await TritonBackend.connect(address, timeout_s=answer_s)
    try:
        await _run_models(backend, finish_s)
    except Overloaded:
        pass  # no fault of the models, and a restart would mend nothing
    finally:
        await backend.close()


async def _run_models(backend: Backend, timeout_s: float) -> None:
    contract = backend.contract
    side = contract.detection.side_multiple
    line = (1, contract.recognition.line_height, contract.recognition.buckets[0], 3)
    await backend.detect(np.zeros((side, side, 3), np.uint8), timeout_s=timeout_s)
    await backend.recognize(np.zeros(line, np.uint8), timeout_s=timeout_s)
