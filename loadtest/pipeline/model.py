"""One model in Triton's Python backend that does everything: the shape that this service replaces, kept small.

A picture comes in, lines go out. Detection and recognition are other models of the same Triton, asked by business logic
scripting (BLS); in between lines are cut out, and all of them are padded to the widest and read in one batch. Each step
is computed by the gateway's own functions, so that nothing differs but the shape. Failures are the whole page's.

This file is copied into a model repository and imported by Triton's stub, whose environment has no OpenCV: the model's
parameter `paths` says where that and the gateway's package lie.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils

Array = npt.NDArray[Any]


class TritonPythonModel:
    """One instance of the model."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Find the modules, and the charset."""
        parameters = json.loads(args["model_config"])["parameters"]
        sys.path += parameters["paths"]["string_value"].split(":")
        from loadtest.pipeline import page  # noqa: PLC0415 - could not be found before

        self._read = page.read
        self._charset = ("", *parameters["charset"]["string_value"].split("\n"))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Read page after page."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: object) -> object:
        data = pb_utils.get_input_tensor_by_name(request, "data").as_numpy()
        try:
            lines = self._read(data.tobytes(), detect, recognize, self._charset)
        except pb_utils.TritonModelException as error:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))
        answer = np.frombuffer(json.dumps(lines).encode(), np.uint8)
        return pb_utils.InferenceResponse([pb_utils.Tensor("lines", answer)])


def detect(image: Array) -> Array:
    """The probability map of one image."""
    return ask("text_detection", {"image": image[np.newaxis]}, ["probability_map"])[0][0]


def recognize(rows: Array) -> list[Array]:
    """The steps of all rows: classes, probabilities, and those of the space."""
    return ask("text_recognition", {"crops": rows}, ["class_index", "probability", "space_probability"])


def ask(model: str, inputs: Mapping[str, Array], outputs: list[str]) -> list[Array]:
    """Have another model of this server compute.

    Raises:
        TritonModelException: it failed.
    """
    tensors = [pb_utils.Tensor(name, np.ascontiguousarray(array)) for name, array in inputs.items()]
    request = pb_utils.InferenceRequest(model_name=model, requested_output_names=outputs, inputs=tensors)
    response = request.exec()
    if response.has_error():
        raise pb_utils.TritonModelException(response.error().message())
    found = [pb_utils.get_output_tensor_by_name(response, name) for name in outputs]
    return [tensor.as_numpy() for tensor in found]
