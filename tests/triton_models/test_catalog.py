import numpy as np
import onnx
import pytest

from triton_models.catalog import DEFAULT_MODEL_SET, HALF, IMAGENET, MODEL_SETS, Normalization, find_model_set
from triton_models.errors import UnknownModelSet
from triton_models.graph import class_count
from triton_models.wheels import read_member, read_model

each_set = pytest.mark.parametrize("model_set", MODEL_SETS.values(), ids=MODEL_SETS)


def test_the_default_set_is_in_the_catalog():
    assert find_model_set(DEFAULT_MODEL_SET).name == "ppocrv6-small"


def test_an_unknown_set_is_refused_with_the_names_there_are():
    with pytest.raises(UnknownModelSet, match=r"'ppocrv9'.*ppocrv6-small, ppocrv6-tiny, ppocrv5-mobile"):
        find_model_set("ppocrv9")


@pytest.mark.parametrize(
    ("normalization", "mean", "deviation"),
    [
        (HALF, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        (IMAGENET, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ],
    ids=["half", "imagenet"],
)
def test_normalization_is_the_usual_formula_for_every_pixel_value(normalization: Normalization, mean, deviation):
    pixels = np.arange(256, dtype=np.float32)[:, np.newaxis].repeat(3, axis=1)
    usual = (pixels / np.float32(255) - np.float32(mean)) / np.float32(deviation)

    folded = (pixels - np.float32(normalization.mean)) * np.float32(normalization.scale)

    assert np.abs(folded - usual).max() < 2e-6


def test_grey_is_the_normalised_zero_of_recognisers():
    assert {model_set.recognition.normalization.mean for model_set in MODEL_SETS.values()} == {(127.5, 127.5, 127.5)}


@each_set
def test_a_set_is_pinned_by_hashes(model_set):
    hashes = {model_set.wheel.sha256, model_set.detection.sha256, model_set.recognition.sha256}
    assert len(hashes) == 3
    assert all(len(bytes.fromhex(digest)) == 32 for digest in hashes)


@pytest.mark.e2e
@each_set
def test_the_catalog_describes_the_published_files(model_set, published_wheel):
    path = published_wheel(model_set)

    detection = read_model(path, model_set.detection)
    recognition = read_model(path, model_set.recognition)

    assert (len(detection), len(recognition)) == (model_set.detection.size, model_set.recognition.size)
    assert class_count(onnx.load_model_from_string(recognition)) == model_set.classes


@pytest.mark.e2e
@each_set
def test_published_wheels_declare_the_licence_of_the_catalog(model_set, published_wheel):
    wheel = model_set.wheel
    folder = f"{wheel.project.replace('-', '_')}-{wheel.version}.dist-info"

    metadata = read_member(published_wheel(model_set), f"{folder}/METADATA").decode()

    declared = {f"License-Expression: {wheel.licence}", f"License: {wheel.licence}"}
    assert declared & set(metadata.splitlines())
