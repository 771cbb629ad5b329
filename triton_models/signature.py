"""What a model takes and gives, as ONNX Runtime sees it after shape inference.

Triton's C++ backend holds a configuration against just this, and wants the outputs' dims to be exactly the same, -1 for
-1, even where the input's dims are fixed. Shapes declared in the file are not enough: they may say less than inference
finds out.
"""

from dataclasses import dataclass

import onnxruntime

ANY_SIZE = -1

_TRITON_TYPES = {
    "tensor(float)": "TYPE_FP32",
    "tensor(uint8)": "TYPE_UINT8",
    "tensor(int32)": "TYPE_INT32",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output.

    Attributes:
        name: in the graph.
        data_type: in Triton's words.
        dims: without the batch; -1 for any size.
    """

    name: str
    data_type: str
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and outputs of a model whose first dimension is the batch."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def open_session(model: bytes) -> onnxruntime.InferenceSession:
    """A session on the CPU."""
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def read_signature(session: onnxruntime.InferenceSession) -> Signature:
    """The signature of an open model."""
    return Signature(
        inputs=tuple(_tensor(argument) for argument in session.get_inputs()),
        outputs=tuple(_tensor(argument) for argument in session.get_outputs()),
    )


def _tensor(argument: onnxruntime.NodeArg) -> Tensor:
    _, *dims = (size if isinstance(size, int) else ANY_SIZE for size in argument.shape)
    return Tensor(argument.name, _TRITON_TYPES[argument.type], tuple(dims))
