"""Graphs that say the same in ways that a GPU may be quicker at, to see whether it is."""

import copy

import onnx
from onnx import helper

HEIGHT, WIDTH = 2, 3
MEANS = ("GlobalAveragePool", "ReduceMean")


def means_by_reduction(model: onnx.ModelProto) -> onnx.ModelProto:
    """Means over a page as reductions: cuDNN's pooling takes a window as large as the page poorly."""
    return _with_means(model, [[HEIGHT, WIDTH]])


def means_in_two_steps(model: onnx.ModelProto) -> onnx.ModelProto:
    """Means over a page along the width, then along the height.

    No sum is over more than one side, so that half precision, which ends at 65,504, can hold them all.
    """
    return _with_means(model, [[WIDTH], [HEIGHT]])


def _with_means(model: onnx.ModelProto, steps: list[list[int]]) -> onnx.ModelProto:
    changed = copy.deepcopy(model)
    nodes = [new for node in model.graph.node for new in (_mean(node, steps) if _is_page_mean(node) else [node])]
    del changed.graph.node[:]
    changed.graph.node.extend(nodes)
    return changed


def _is_page_mean(node: onnx.NodeProto) -> bool:
    axes = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), [])
    return node.op_type == "GlobalAveragePool" or (node.op_type == "ReduceMean" and axes == [HEIGHT, WIDTH])


def _mean(node: onnx.NodeProto, steps: list[list[int]]) -> list[onnx.NodeProto]:
    """The mean of a node as reductions one after another, over these axes."""
    names = [node.input[0], *(f"{node.output[0]}.{step}" for step in range(1, len(steps))), node.output[0]]
    return [
        helper.make_node("ReduceMean", [source], [target], axes=axes, keepdims=1)
        for axes, source, target in zip(steps, names[:-1], names[1:], strict=True)
    ]
