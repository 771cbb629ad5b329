"""Requests that are written by hand are what protobuf would have written."""

import numpy as np
import pytest
from tritonclient.grpc.service_pb2 import ModelInferRequest

from gateway.inference.messages import infer_request

PIXELS = np.random.default_rng(0).integers(0, 256, (2, 48, 320, 3), np.uint8)


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"crops": PIXELS[:, :1, :5]},
        {"crops": PIXELS},
        {"crops": PIXELS, "x": np.arange(6, dtype="<f4").reshape(2, 3), "lengths": np.zeros((1, 0), "<i4")},
    ],
    ids=["none", "short, not contiguous", "long", "several"],
)
def test_a_request_decodes_to_its_tensors(inputs):
    request = infer_request("reader", inputs, ("text", "score"), "id-1")
    message = ModelInferRequest.FromString(request.data)
    assert (message.model_name, message.id, request.model_name) == ("reader", "id-1", "reader")
    assert [output.name for output in message.outputs] == ["text", "score"]
    assert [(one.name, tuple(one.shape)) for one in message.inputs] == [
        (name, array.shape) for name, array in inputs.items()
    ]
    assert list(message.raw_input_contents) == [array.tobytes() for array in inputs.values()]


def test_a_request_is_as_long_as_protobuf_makes_it():
    data = infer_request("reader", {"crops": PIXELS}, ("text",), "").data
    assert len(data) == len(ModelInferRequest.FromString(data).SerializeToString())
