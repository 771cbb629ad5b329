"""Models in half precision: published graphs with float16 weights and activations, then edited as all others."""

import shutil
from collections.abc import Callable
from pathlib import Path

import onnx

from loadtest.gpu.graphs import means_in_two_steps
from triton_models.catalog import ModelSet
from triton_models.graph import edit_detection, edit_recognition

KEPT_IN_FLOAT32 = ["Resize", "Softmax", "Range"]
"""Sums over thousands of classes and coordinates of a page lose too much in half precision."""


def to_float16(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in half precision, its input and output as they were; ONNX Runtime's own converter.

    Means over a page are taken in two steps first. The detector's activations stay below 60, but their sum over
    504 x 184 reaches 285,000, and half precision ends at 65,504: a page of that size then has no text at all.
    """
    from onnxruntime.transformers.float16 import convert_float_to_float16  # noqa: PLC0415 - slow to import
    from onnxruntime.transformers.onnx_model import OnnxModel  # noqa: PLC0415

    half: onnx.ModelProto = convert_float_to_float16(
        means_in_two_steps(model), keep_io_types=True, disable_shape_infer=True, op_block_list=KEPT_IN_FLOAT32
    )
    OnnxModel(half).topological_sort()  # the converter puts its casts at the end, which the checker refuses
    return half


def half_repository(model_set: ModelSet, repository: Path, out: Path, read: Callable[[str], bytes]) -> None:
    """A copy of a repository whose models compute in half precision.

    Args:
        model_set: that the repository was built from.
        repository: with edited graphs.
        out: the copy.
        read: gives a published file by its path in the wheel.
    """
    shutil.copytree(repository, out, copy_function=_link)
    kinds = (
        ("detection", model_set.detection, edit_detection),
        ("recognition", model_set.recognition, edit_recognition),
    )
    for kind, file, edit in kinds:
        half = edit(to_float16(onnx.load_model_from_string(read(file.member))), file.normalization)
        _replace_all(sorted(out.glob(f"text_{kind}*/1/model.onnx")), half.SerializeToString())


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def _replace_all(paths: list[Path], data: bytes) -> None:
    """All these files become links to one with this data."""
    for path in paths:
        path.unlink()
    paths[0].write_bytes(data)
    for path in paths[1:]:
        path.hardlink_to(paths[0])
