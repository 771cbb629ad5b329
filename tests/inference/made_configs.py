"""Triton configurations of small models, as the builder writes them."""

import json
from collections.abc import Mapping, Sequence

from tritonclient.grpc.model_config_pb2 import DataType, ModelConfig

from gateway.inference.configs import ServedModel

CHARSET = ("", "a", "b", " ")
NORMALIZATION = {"mean": [100.0, 110.0, 120.0], "scale": [0.01, 0.02, 0.03]}

Tensors = Mapping[str, tuple[str, Sequence[int]]]


def config(
    name: str, inputs: Tensors, outputs: Tensors, parameters: Mapping[str, str | None], max_batch_size: int
) -> ModelConfig:
    made = ModelConfig(name=name, backend="onnxruntime", max_batch_size=max_batch_size)
    for field, tensors in ((made.input, inputs), (made.output, outputs)):
        for tensor, (data_type, dims) in tensors.items():
            field.add(name=tensor, data_type=DataType.Value(f"TYPE_{data_type}"), dims=dims)
    for key, value in parameters.items():
        if value is not None:
            made.parameters[key].string_value = value
    return made


def detection_config(
    *,
    name: str = "text_detection",
    height: int = -1,
    width: int = -1,
    max_batch_size: int = 1,
    **parameters: str | None,
) -> ModelConfig:
    return config(
        name,
        {"image": ("UINT8", [height, width, 3])},
        {"probability_map": ("UINT8", [height, width])},
        {"model_set": "tiny", "graph": "top1", **parameters},
        max_batch_size,
    )


def recognition_config(
    *,
    name: str = "text_recognition",
    width: int = -1,
    max_batch_size: int = 16,
    alternatives: int = 0,
    **parameters: str | None,
) -> ModelConfig:
    more: Tensors = {
        "alternative_class_index": ("INT32", [-1, alternatives]),
        "alternative_probability": ("FP32", [-1, alternatives]),
    }
    return config(
        name,
        {"crops": ("UINT8", [48, width, 3])},
        {
            "class_index": ("INT32", [-1]),
            "probability": ("FP32", [-1]),
            "space_probability": ("FP32", [-1]),
            **(more if alternatives else {}),
        },
        {
            "model_set": "tiny",
            "graph": "top1",
            "charset": "\n".join(CHARSET[1:]),
            "buckets": "32,64",
            **parameters,
        },
        max_batch_size,
    )


def row_config(width: int, rows: int) -> ModelConfig:
    """One model of the layout with one model per shape."""
    return recognition_config(
        name=f"text_recognition_w{width}_r{rows}", width=width, max_batch_size=rows, rows=str(rows), buckets=None
    )


def original_detection_config(**parameters: str | None) -> ModelConfig:
    return config(
        "text_detection",
        {"x": ("FP32", [3, -1, -1])},
        {"sigmoid_0.tmp_0": ("FP32", [1, -1, -1])},
        {"model_set": "tiny", "graph": "original", "normalization": json.dumps(NORMALIZATION), **parameters},
        1,
    )


def original_recognition_config(*, classes: int = len(CHARSET), **parameters: str | None) -> ModelConfig:
    return config(
        "text_recognition",
        {"x": ("FP32", [3, 48, -1])},
        {"softmax_2.tmp_0": ("FP32", [-1, classes])},
        {
            "model_set": "tiny",
            "graph": "original",
            "normalization": json.dumps(NORMALIZATION),
            "charset": "\n".join(CHARSET[1:]),
            "buckets": "32,64",
            **parameters,
        },
        16,
    )


def served(*configs: ModelConfig, version: str = "1") -> list[ServedModel]:
    return [ServedModel(one, version) for one in configs]
