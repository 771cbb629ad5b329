"""Weights that are too small to count, but not to cost.

Training drives unused weights towards zero, and some end below float32's smallest normal number, 1.2e-38. Processors
multiply such subnormal numbers in microcode, many times slower: with PP-OCRv6 small, two layers of the detector take
two thirds of its time for 255,000 of them. Beside any other summand they vanish, so zero in their place gives the same
results (docs/decisions/0024-subnormal-weights.md).
"""

from collections.abc import Iterator

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal


def flush_subnormal_weights(graph: onnx.GraphProto) -> int:
    """Set every subnormal float32 weight of a graph to zero, in place; how many there were."""
    flushed = 0
    for weights in float_weights(graph):
        values = numpy_helper.to_array(weights)
        subnormal = is_subnormal(values)
        if subnormal.any():
            weights.CopyFrom(numpy_helper.from_array(np.where(subnormal, np.float32(0), values), weights.name))
            flushed += int(subnormal.sum())
    return flushed


def float_weights(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The tensors of float32 that a graph holds: older exporters make them nodes, newer ones initializers."""
    constants = (node.attribute for node in graph.node if node.op_type == "Constant")
    tensors = [attribute.t for attributes in constants for attribute in attributes if attribute.name == "value"]
    return (tensor for tensor in (*graph.initializer, *tensors) if tensor.data_type == TensorProto.FLOAT)


def is_subnormal(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Where a value is not zero, and yet smaller than every normal number."""
    subnormal: NDArray[np.bool_] = (values != 0) & (np.abs(values) < SMALLEST_NORMAL)
    return subnormal
