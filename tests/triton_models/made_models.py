"""Small ONNX models with the interfaces of PP-OCR's, and a wheel that holds them."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from triton_models.catalog import ModelFile, ModelSet, Normalization, Wheel

NORMALIZATION = Normalization(mean=(120.0, 127.5, 130.0), scale=(1 / 60, 1 / 127.5, 1 / 50))
DICTIONARY = ("a", "\u3000", "c")
CLASSES = len(DICTIONARY) + 2
DETECTION_MEMBER = "made/det.onnx"
RECOGNITION_MEMBER = "made/rec.onnx"
DICTIONARY_MEMBER = "made/dict.txt"


def made_detection(*, opset: int = 11, outputs: int = 1) -> onnx.ModelProto:
    """(N, 3, H, W) to (N, 1, H, W): a convolution and a sigmoid."""
    kernel = _random((1, 3, 3, 3))
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["conv"], pads=[1, 1, 1, 1]),
        *(helper.make_node("Sigmoid", ["conv"], [f"map_{index}"]) for index in range(outputs)),
    ]
    maps = [
        helper.make_tensor_value_info(f"map_{index}", TensorProto.FLOAT, ["n", 1, "h", "w"]) for index in range(outputs)
    ]
    return _model(nodes, ["n", 3, "h", "w"], maps, {"kernel": kernel}, opset)


def made_recognition(*, opset: int = 11, classes: int = CLASSES, character: str | None = None) -> onnx.ModelProto:
    """(N, 3, 48, W) to (N, W / 8, classes): one convolution a step and a softmax."""
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["conv"], strides=[48, 8]),
        helper.make_node("Reshape", ["conv", "shape"], ["columns"]),
        helper.make_node("Transpose", ["columns"], ["steps"], perm=[0, 2, 1]),
        helper.make_node("Softmax", ["steps"], ["probabilities"], axis=2),
    ]
    weights = {"kernel": _random((classes, 3, 48, 8)) / 8, "shape": np.array([0, classes, -1], np.int64)}
    output = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", "t", classes])
    model = _model(nodes, ["n", 3, 48, "w"], [output], weights, opset)
    if character is not None:
        model.metadata_props.add(key="character", value=character)
    return model


def made_wheel(folder: Path, *, dictionary: str | None = None) -> ModelSet:
    """A wheel in `folder`, and the set that it holds; with `dictionary` as a file, else in the recogniser."""
    detection = made_detection().SerializeToString()
    character = None if dictionary is not None else "\n".join(DICTIONARY)
    recognition = made_recognition(character=character).SerializeToString()
    path = folder / "made-1.0-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(DETECTION_MEMBER, detection)
        archive.writestr(RECOGNITION_MEMBER, recognition)
        archive.writestr(DICTIONARY_MEMBER, dictionary or "")
    wheel = Wheel("made", "1.0", path.name, hashlib.sha256(path.read_bytes()).hexdigest())
    return ModelSet(
        name="made",
        wheel=wheel,
        detection=_file(DETECTION_MEMBER, detection),
        recognition=_file(RECOGNITION_MEMBER, recognition),
        classes=CLASSES,
        dictionary=None if dictionary is None else DICTIONARY_MEMBER,
    )


def _file(member: str, data: bytes) -> ModelFile:
    return ModelFile(member, hashlib.sha256(data).hexdigest(), len(data), NORMALIZATION)


def _model(nodes, dims, outputs, weights, opset: int) -> onnx.ModelProto:
    initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    images = helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)
    graph = helper.make_graph(nodes, "made", [images], outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def _random(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)
