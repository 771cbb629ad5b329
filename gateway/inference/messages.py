"""Tensors as Triton's protobuf messages, and back: raw bytes, row-major, little-endian."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc.service_pb2 import ModelInferRequest, ModelInferResponse

from gateway.errors import UnexpectedOutput
from gateway.inference.codecs import Tensors

DTYPES: Mapping[str, np.dtype[np.generic]] = {
    "UINT8": np.dtype("u1"),
    "INT32": np.dtype("<i4"),
    "FP32": np.dtype("<f4"),
}
"""The tensor types of the contract, by Triton's names."""

NAMES = {dtype: name for name, dtype in DTYPES.items()}


def infer_request(model: str, inputs: Tensors, outputs: tuple[str, ...], request_id: str) -> ModelInferRequest:
    """The request that asks `model` for these outputs."""
    request = ModelInferRequest(model_name=model, id=request_id)
    for name, tensor in inputs.items():
        request.inputs.add(name=name, datatype=NAMES[tensor.dtype], shape=tensor.shape)
        request.raw_input_contents.append(tensor.tobytes())
    for name in outputs:
        request.outputs.add(name=name)
    return request


def answered_tensors(response: ModelInferResponse) -> Tensors:
    """The tensors of an answer, as read-only views of its bytes.

    Raises:
        UnexpectedOutput: a tensor without bytes, of another type, or with too many or too few bytes for its shape.
    """
    if len(response.outputs) != len(response.raw_output_contents):
        raise UnexpectedOutput(
            f"the answer describes {len(response.outputs)} tensors, but carries {len(response.raw_output_contents)}"
        )
    return {
        output.name: _tensor(output.name, output.datatype, tuple(output.shape), content)
        for output, content in zip(response.outputs, response.raw_output_contents, strict=True)
    }


def _tensor(name: str, datatype: str, shape: tuple[int, ...], content: bytes) -> NDArray[np.generic]:
    if datatype not in DTYPES:
        raise UnexpectedOutput(f"{name!r} is {datatype}, expected one of {', '.join(DTYPES)}")
    dtype = DTYPES[datatype]
    expected = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if min(shape, default=0) < 0 or len(content) != expected:
        raise UnexpectedOutput(f"{name!r} has {len(content)} bytes, but {datatype} {list(shape)} takes {expected}")
    return np.frombuffer(content, dtype).reshape(shape)
