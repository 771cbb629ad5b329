from gateway.inference.contract import (
    Contract,
    DetectionContract,
    DetectionModel,
    RecognitionContract,
    RecognitionModel,
)
from gateway.web.services import ServedModel, ServedModels


def test_the_models_of_a_contract_detection_first():
    contract = Contract(
        "ppocrv6-small",
        DetectionContract((DetectionModel("text_detection", "3"),)),
        RecognitionContract(
            (RecognitionModel("r_320", "1"), RecognitionModel("r_640", "2")), 48, (320, 640), ("", "a")
        ),
    )
    assert ServedModels.of(contract) == ServedModels(
        "ppocrv6-small",
        (
            ServedModel("text_detection", "3", "detection"),
            ServedModel("r_320", "1", "recognition"),
            ServedModel("r_640", "2", "recognition"),
        ),
    )
