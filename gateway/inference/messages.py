"""Tensors as Triton's protobuf messages, and back: raw bytes, row-major, little-endian.

A request is written by hand where it is large: protobuf would copy the pixels three times, into `bytes`, into the
message and out of it again. Encoded messages may be joined, and the result is the merged message; so the small fields
are encoded as usual, and the tensors put behind them, each copied once.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

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


_RAW_INPUT_CONTENTS = bytes([ModelInferRequest.RAW_INPUT_CONTENTS_FIELD_NUMBER << 3 | 2])
"""The tag in front of a tensor: the field's number, and that its length follows."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """A request, as it goes over the wire.

    Attributes:
        model_name: whom it is for.
        data: an encoded `ModelInferRequest`.
    """

    model_name: str
    data: bytes


def infer_request(model: str, inputs: Tensors, outputs: tuple[str, ...], request_id: str) -> InferRequest:
    """The request that asks `model` for these outputs."""
    head = ModelInferRequest(model_name=model, id=request_id)
    parts: list[bytes | memoryview] = []
    for name, tensor in inputs.items():
        head.inputs.add(name=name, datatype=NAMES[tensor.dtype], shape=tensor.shape)
        parts += [_RAW_INPUT_CONTENTS, _varint(tensor.nbytes), np.ascontiguousarray(tensor).data]
    for name in outputs:
        head.outputs.add(name=name)
    return InferRequest(model, b"".join([head.SerializeToString(), *parts]))


def _varint(number: int) -> bytes:
    """As protobuf writes lengths: seven bits a byte, the lowest first; all but the last have the highest bit set."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


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
    expected = dtype.itemsize * math.prod(shape)
    if min(shape, default=0) < 0 or len(content) != expected:
        raise UnexpectedOutput(f"{name!r} has {len(content)} bytes, but {datatype} {list(shape)} takes {expected}")
    return np.frombuffer(content, dtype).reshape(shape)
