"""Edited and original models, one model for any shape and one per shape, Triton and this process: all say the same."""

import os
import shutil

import cv2
import grpc
import numpy as np
import pytest
from gateways import connected, embedded
from served_models import EDITED, ORIGINAL, SHAPED
from tritonclient.grpc.service_pb2 import RepositoryModelLoadRequest
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceStub

from gateway.arrays import RowSteps
from gateway.errors import BackendUnavailable
from gateway.inference.batching import pad_rows
from triton_models.server import Ports, TritonProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

BUCKET_WIDTH = 320
TEXTS = ("Hello world", "Invoice No. 12345", "The quick brown fox", "0123456789", "a")


def write_text(picture, text, left, baseline):
    cv2.putText(picture, text, (left, baseline), cv2.FONT_HERSHEY_SIMPLEX, 0.9, (20, 20, 20), 2, cv2.LINE_AA)


def rendered_rows():
    """The texts as lines in one bucket, padded with grey."""
    rows = np.full((len(TEXTS), 48, BUCKET_WIDTH, 3), 128, np.uint8)
    for row, text in zip(rows, TEXTS, strict=True):
        (width, _), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.9, 2)
        row[:, : width + 16] = (235, 240, 245)
        write_text(row, text, 8, 34)
    return rows


def rendered_page():
    page = np.full((320, 480, 3), 240, np.uint8)
    for index, text in enumerate(TEXTS):
        write_text(page, text, 20, 50 + 60 * index)
    return page


def read(steps, charset):
    """Greedy CTC, just enough to see that these are the texts."""
    texts = []
    for row in steps.class_index:
        starts = np.flatnonzero(np.diff(row, prepend=0))
        texts.append("".join(charset[index] for index in row[starts]))
    return texts


async def both_answers(backend):
    return (
        await backend.detect(rendered_page(), timeout_s=30),
        first_rows(await backend.recognize(filled_up(rendered_rows(), backend.contract), timeout_s=30), len(TEXTS)),
    )


def filled_up(rows, contract):
    """Rows and grey ones up to the number that the model takes, as the batcher pads them."""
    return pad_rows(list(rows), contract.recognition, BUCKET_WIDTH)


def first_rows(steps, count):
    return RowSteps(steps.class_index[:count], steps.probability[:count], steps.space_probability[:count])


def assert_same_steps(ours, theirs):
    np.testing.assert_array_equal(ours.class_index, theirs.class_index)
    np.testing.assert_allclose(ours.probability, theirs.probability, atol=1e-4)
    np.testing.assert_allclose(ours.space_probability, theirs.space_probability, atol=1e-4)


def map_difference(ours, theirs):
    return np.abs(ours.astype(int) - theirs.astype(int)).max()


async def test_the_lines_are_read_and_the_text_of_a_page_is_found(triton):
    async with connected(triton, EDITED) as backend:
        map_, steps = await both_answers(backend)
        assert read(steps, backend.contract.recognition.charset) == list(TEXTS)
    assert map_[30:52, 30:150].mean() > 100
    assert map_[:15].mean() < 5


async def test_edited_models_say_what_the_originals_say(triton):
    async with connected(triton, EDITED) as backend:
        edited_map, edited_steps = await both_answers(backend)
    async with connected(triton, ORIGINAL) as backend:
        original_map, original_steps = await both_answers(backend)
    assert_same_steps(edited_steps, original_steps)
    assert map_difference(edited_map, original_map) <= 1


async def test_one_model_per_shape_says_what_one_for_any_shape_says(triton):
    async with connected(triton, EDITED) as backend:
        any_map, any_steps = await both_answers(backend)
    async with connected(triton, SHAPED) as backend:
        assert backend.contract.recognition.place(BUCKET_WIDTH, len(TEXTS)).rows == 8
        shaped_map, shaped_steps = await both_answers(backend)
    assert_same_steps(shaped_steps, any_steps)
    assert map_difference(shaped_map, any_map) <= 1


@pytest.mark.parametrize("names", [EDITED, ORIGINAL, SHAPED], ids=["edited", "original", "per shape"])
async def test_the_embedded_backend_has_tritons_contract_and_says_what_triton_says(triton, repositories, names):
    async with connected(triton, names) as backend:
        contract = backend.contract
        triton_map, triton_steps = await both_answers(backend)
    async with embedded(repositories[names], names) as backend:
        assert backend.contract == contract
        embedded_map, embedded_steps = await both_answers(backend)
    assert_same_steps(embedded_steps, triton_steps)
    assert map_difference(embedded_map, triton_map) <= 1


@pytest.fixture
def reloadable(triton_runtime, repositories, tmp_path):
    """A server that loads models when told to, of a repository that a test may change."""
    repository = shutil.copytree(repositories[EDITED], tmp_path / "models")
    with TritonProcess(
        triton_runtime,
        repository,
        log_file=tmp_path / "triton.log",
        ports=Ports.free(),
        model_control="explicit",
        extra_flags=["--load-model=*"],
    ) as server:
        yield server, repository / EDITED.recognition


async def load(triton, name):
    async with grpc.aio.insecure_channel(triton.grpc_address) as channel:
        await GRPCInferenceServiceStub(channel).RepositoryModelLoad(RepositoryModelLoadRequest(model_name=name))


async def test_a_new_version_goes_on_answering_unless_its_charset_is_another(reloadable):
    triton, folder = reloadable
    async with connected(triton, EDITED) as backend:
        shutil.copytree(folder / "1", folder / "2", copy_function=os.link)
        await load(triton, EDITED.recognition)
        await backend.recognize(rendered_rows(), timeout_s=30)
        assert backend.contract.recognition.models[0].version == "2"

        (folder / "2").rename(folder / "3")
        exchange_0_and_1(folder / "config.pbtxt")
        await load(triton, EDITED.recognition)
        with pytest.raises(BackendUnavailable, match="replaced"):
            await backend.recognize(rendered_rows(), timeout_s=30)
        steps = await backend.recognize(rendered_rows(), timeout_s=30)
        assert "1023456789" in read(steps, backend.contract.recognition.charset)


def exchange_0_and_1(config):
    """In the charset."""
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(r"\n0\n1\n2\n", r"\n1\n0\n2\n"), encoding="utf-8")
