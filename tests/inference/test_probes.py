import numpy as np
import pytest
from fake_triton import answer_of
from made_configs import (
    detection_config,
    original_detection_config,
    original_recognition_config,
    recognition_config,
    row_config,
    served,
)
from tritonclient.grpc.service_pb2 import ModelInferRequest

from gateway.errors import UnexpectedOutput
from gateway.inference.configs import read_contract
from gateway.inference.probes import choose_probes

SHAPED = read_contract(
    detection=served(
        detection_config(name="text_detection_h64_w64", height=64, width=64),
        detection_config(name="text_detection_h32_w64", height=32, width=64),
    ),
    recognition=served(row_config(64, 1), row_config(32, 1), row_config(32, 8)),
)


def contract_of(detection, recognition):
    return read_contract(detection=served(detection), recognition=served(recognition))


def shapes_of(probes):
    return {probe.model: probe.pixels.shape for probe in probes}


def test_models_for_any_shape_are_shown_something_small():
    probes = choose_probes(contract_of(detection_config(), recognition_config()), set())
    assert shapes_of(probes) == {"text_detection": (32, 32, 3), "text_recognition": (1, 48, 32, 3)}


def test_of_models_of_one_shape_each_the_cheapest_are_chosen():
    assert shapes_of(choose_probes(SHAPED, set())) == {
        "text_detection_h32_w64": (32, 64, 3),
        "text_recognition_w32_r1": (1, 48, 32, 3),
    }


def test_models_in_doubt_are_chosen_as_well():
    assert shapes_of(choose_probes(SHAPED, {"text_recognition_w32_r8", "gone"})) == {
        "text_detection_h32_w64": (32, 64, 3),
        "text_recognition_w32_r1": (1, 48, 32, 3),
        "text_recognition_w32_r8": (8, 48, 32, 3),
    }


@pytest.mark.parametrize(
    ("contract", "inputs"),
    [
        (contract_of(detection_config(), recognition_config()), {"image": "UINT8", "crops": "UINT8"}),
        (contract_of(original_detection_config(), original_recognition_config()), {"x": "FP32"}),
    ],
    ids=["edited", "original"],
)
def test_a_probe_is_a_request_as_the_graph_takes_it(contract, inputs):
    requests = [ModelInferRequest.FromString(probe.request().data) for probe in choose_probes(contract, set())]
    assert {one.name: one.datatype for request in requests for one in request.inputs} == inputs
    assert {request.id for request in requests} == {"probe"}


def test_an_answer_that_such_a_model_does_not_give_is_refused():
    detection, _ = choose_probes(SHAPED, set())
    detection.check(answer_of({"probability_map": np.zeros((1, 32, 64), np.uint8)}))
    with pytest.raises(UnexpectedOutput, match="probability_map"):
        detection.check(answer_of({"probability_map": np.zeros((1, 64, 32), np.uint8)}))
