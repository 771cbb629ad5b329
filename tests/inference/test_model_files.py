import pytest
from made_configs import detection_config, recognition_config, row_config
from made_onnx import BLUE_MAP, LOWEST_BITS, store

from gateway.errors import ContractError
from gateway.inference.repository import read_models


def test_a_single_model_is_found_by_its_name(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP)
    (model,) = read_models(tmp_path, "text_detection")
    assert model.served.config == detection_config()
    assert model.served.version == "1"
    assert model.file == tmp_path / "text_detection" / "1" / "model.onnx"


def test_models_of_one_shape_each_are_found_by_their_names(tmp_path):
    store(tmp_path, row_config(64, 1), LOWEST_BITS)
    store(tmp_path, row_config(32, 8), LOWEST_BITS)
    store(tmp_path, recognition_config(name="text_recognition_old"), LOWEST_BITS)
    assert [model.name for model in read_models(tmp_path, "text_recognition")] == [
        "text_recognition_w32_r8",
        "text_recognition_w64_r1",
    ]


def test_the_highest_version_is_taken_by_number(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP)
    for folder in ("9", "10", "old", "11"):
        (tmp_path / "text_detection" / folder).mkdir()
    for folder in ("9", "10", "old"):
        (tmp_path / "text_detection" / folder / "model.onnx").touch()
    (model,) = read_models(tmp_path, "text_detection")
    assert model.served.version == "10"


def test_a_configuration_may_leave_its_name_to_the_folder_and_name_its_file(tmp_path):
    config = detection_config(name="text_detection")
    store(tmp_path, config, BLUE_MAP)
    text = 'default_model_filename: "other.onnx"'
    (tmp_path / "text_detection" / "config.pbtxt").write_text(text, encoding="utf-8")
    (tmp_path / "text_detection" / "1" / "other.onnx").touch()
    (model,) = read_models(tmp_path, "text_detection")
    assert model.name == "text_detection"
    assert model.file.name == "other.onnx"


def test_a_missing_model_is_refused(tmp_path):
    with pytest.raises(ContractError, match="holds no model text_detection nor one per shape"):
        read_models(tmp_path, "text_detection")


def test_a_missing_configuration_is_refused(tmp_path):
    (tmp_path / "text_detection").mkdir()
    with pytest.raises(ContractError, match=r"config.pbtxt can't be read"):
        read_models(tmp_path, "text_detection")


def test_an_unknown_field_is_refused(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP)
    (tmp_path / "text_detection" / "config.pbtxt").write_text("max_bach_size: 4", encoding="utf-8")
    with pytest.raises(ContractError, match="max_bach_size"):
        read_models(tmp_path, "text_detection")


def test_a_model_without_a_file_is_refused(tmp_path):
    store(tmp_path, detection_config(), BLUE_MAP)
    (tmp_path / "text_detection" / "1" / "model.onnx").unlink()
    with pytest.raises(ContractError, match=r"no version with a model.onnx"):
        read_models(tmp_path, "text_detection")
