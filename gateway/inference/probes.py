"""Tiny inferences that show whether a server's models work at all: the smallest input that each takes.

Whether they read rightly is not asked here; the known picture tells (`gateway.canary`).
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

import numpy as np
from tritonclient.grpc.service_pb2 import ModelInferResponse

from gateway.inference.codecs import Codec, Pixels, detection_codec, recognition_codec
from gateway.inference.contract import Contract, DetectionContract, DetectionModel, RecognitionContract
from gateway.inference.contract import RecognitionModel as Recognition
from gateway.inference.messages import InferRequest, answered_tensors, infer_request

REQUEST_ID = "probe"


@dataclass(frozen=True, slots=True)
class Probe:
    """One tiny inference.

    Attributes:
        model: name in Triton.
        codec: how its arrays are laid out.
        pixels: what it is shown.
    """

    model: str
    codec: Codec[object]
    pixels: Pixels

    def request(self) -> InferRequest:
        """The call to make."""
        return infer_request(self.model, self.codec.encode(self.pixels), self.codec.outputs, REQUEST_ID)

    def check(self, response: ModelInferResponse) -> None:
        """Return if the answer is one that such a model gives.

        Raises:
            UnexpectedOutput: it is not.
        """
        self.codec.decode(answered_tensors(response), self.pixels.shape)


def choose_probes(contract: Contract, doubted: Collection[str]) -> list[Probe]:
    """A probe of the cheapest model of each kind, and of those in doubt."""
    detection = [(_image(model, contract.detection), model.name) for model in contract.detection.models]
    recognition = [(_rows(model, contract.recognition), model.name) for model in contract.recognition.models]
    return [
        *_cheapest_and_doubted(detection, detection_codec(contract.detection), doubted),
        *_cheapest_and_doubted(recognition, recognition_codec(contract.recognition), doubted),
    ]


def _cheapest_and_doubted(
    shapes: list[tuple[tuple[int, ...], str]], codec: Codec[object], doubted: Collection[str]
) -> list[Probe]:
    cheapest = min(shapes, key=lambda pair: prod(pair[0]))
    chosen = [pair for pair in shapes if pair == cheapest or pair[1] in doubted]
    return [Probe(name, codec, np.zeros(shape, np.uint8)) for shape, name in chosen]


def _image(model: DetectionModel, contract: DetectionContract) -> tuple[int, ...]:
    return (*(model.shape or (contract.side_multiple, contract.side_multiple)), 3)


def _rows(model: Recognition, contract: RecognitionContract) -> tuple[int, ...]:
    return (model.rows or 1, contract.line_height, model.bucket_width or contract.buckets[0], 3)
