"""Repositories whose models compute in eight bits, made by ONNX Runtime's own quantizer."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

from gateway.inference.calls import Run
from gateway.inference.codecs import Tensors
from gateway.inference.embedded import EmbeddedBackend
from loadtest.gpu.recording import reader

MODEL = Path("1") / "model.onnx"
CALIBRATED = ["Conv", "MatMul", "Gemm"]
OPERATOR_SET = 13
"""The first in which weights have a scale for each channel."""
MOST_CALLS = 24
"""That a model is calibrated with."""

Feeds = Mapping[str, list[Mapping[str, NDArray[np.generic]]]]
"""What each model was asked, by its name."""


def quantized_dynamically(repository: Path, out: Path) -> Path:
    """Weights of matrix products in eight bits, their inputs measured at each call; convolutions stay as they are."""
    for model in copied(repository, out):
        quantize_dynamic(repository / model / MODEL, out / model / MODEL, op_types_to_quantize=["MatMul", "Gemm"])
    return out


def quantized_statically(repository: Path, out: Path, feeds: Feeds) -> Path:
    """Weights and activations in eight bits, their ranges learnt from real pages; per channel."""
    for model in copied(repository, out):
        quantize_static(
            version_converter.convert_version(onnx.load(repository / model / MODEL), OPERATOR_SET),
            out / model / MODEL,
            Calls(feeds[model]),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=CALIBRATED,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
    return out


def copied(repository: Path, out: Path) -> list[str]:
    """Copy a repository; the names of its models."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(repository, out)
    return [path.name for path in sorted(out.iterdir()) if (path / MODEL).is_file()]


class Calls(CalibrationDataReader):  # type: ignore[misc] # a library without types
    """The calls of a model, one after the other, as the quantizer wants them."""

    def __init__(self, feeds: Sequence[Mapping[str, NDArray[np.generic]]]) -> None:
        self._feeds: Iterator[Mapping[str, NDArray[np.generic]]] = iter(feeds[:: -(-len(feeds) // MOST_CALLS)])

    def get_next(self) -> Mapping[str, NDArray[np.generic]] | None:
        """The next; None after the last."""
        return next(self._feeds, None)


class Recorder(EmbeddedBackend):
    """The embedded backend, which keeps what its models are asked."""

    asked: dict[str, list[Mapping[str, NDArray[np.generic]]]]

    async def run(self, run: Run) -> Tensors:
        """As `EmbeddedBackend.run`."""
        self.asked.setdefault(run.model, []).append(run.inputs)
        return await super().run(run)


async def recorded(repository: Path, pages: Sequence[bytes]) -> Feeds:
    """What these pages ask of the models."""
    backend = Recorder(repository)
    backend.asked = {}
    await backend.refresh()
    async with reader(backend) as read:
        for page in pages:
            await read(page)
    await backend.close()
    return backend.asked
