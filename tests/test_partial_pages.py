"""Pages some of whose lines can't be read: refused, or with `partial` given with what there is and what is missing."""

from contextlib import asynccontextmanager

import cv2
import numpy as np
import pytest
from prometheus_client import REGISTRY

from gateway.arrays import RowSteps
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, InferenceFailed, OutOfMemory
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.contract import (
    Contract,
    DetectionContract,
    DetectionModel,
    RecognitionContract,
    RecognitionModel,
)
from gateway.inference.detector import Detector
from gateway.line_reader import LineReader
from gateway.metrics import StageTimes
from gateway.ocr.decoding import DecodeLimits
from gateway.ocr.options import DetectionOptions, PageOptions, RecognitionOptions
from gateway.pipeline import OcrPipeline

NARROW, WIDE = 160, 640
SHORT, LONG, TALL, OVERLONG = (20, 20, 40, 20), (20, 100, 160, 20), (500, 20, 30, 340), (20, 300, 560, 20)
"""(left, top, width, height) of regions: crops for the narrow and the wide bucket, a tall one, one to be cut."""

PARTIAL = RecognitionOptions(partial=True, reread=False)
NO_MEMORY = OutOfMemory("text_recognition: the inference server ran out of memory")


class FakeModels:
    """Sees text where it is dark and reads every line as "a"; the next calls, or all of a bucket, may fail."""

    last_answer_at = 0.0

    def __init__(self):
        detection = DetectionContract((DetectionModel("detection", "1"),))
        recognition = RecognitionContract((RecognitionModel("recognition", "1"),), 48, (NARROW, WIDE), ("", "a"))
        self.contract = Contract("fake", detection, recognition)
        self.failing_buckets = {}
        self.next_errors = []
        self.score = 0.99
        self.calls = []

    async def detect(self, image, *, timeout_s):
        return np.where(image[..., 0] < 128, np.uint8(255), np.uint8(0))

    async def recognize(self, rows, *, timeout_s):
        self.calls.append(rows.shape[2])
        error = self.next_errors.pop(0) if self.next_errors else self.failing_buckets.get(rows.shape[2])
        if error:
            raise error
        steps = (len(rows), rows.shape[2] // 8)
        class_index = np.zeros(steps, np.int32)
        class_index[:, 1] = 1
        return RowSteps(class_index, np.full(steps, self.score, np.float32), np.zeros(steps, np.float32))


def picture(*regions, page_height=400):
    image = np.full((page_height, 640, 3), 255, np.uint8)
    for left, top, width, height in regions:
        image[top : top + height, left : left + width] = 0
    return cv2.imencode(".png", image)[1].tobytes()


@asynccontextmanager
async def pipeline_on(models):
    batcher = Batcher(models, BatchLimits())
    with CpuPool(1) as pool:
        yield OcrPipeline(
            models, Detector(models, calls_in_flight=1), LineReader(models, batcher, pool), pool, DecodeLimits()
        )


async def read(models, data, recognition=PARTIAL):
    options = PageOptions(detection=DetectionOptions(min_side=0), recognition=recognition)
    async with pipeline_on(models) as pipeline:
        return await pipeline.read(data, options, deadline=Deadline.after(60), times=StageTimes())


def summary(page):
    """Text of each line, and the warnings."""
    texts = [line.transcription.text if line.transcription else None for line in page.lines]
    return texts, {warning.code: warning.detail for warning in page.warnings}


@pytest.fixture
def models():
    return FakeModels()


async def test_without_a_failure_nothing_is_said(models):
    assert summary(await read(models, picture(SHORT, LONG))) == (["a", "a"], {})
    assert set(models.calls) == {NARROW, WIDE}


async def test_a_page_is_refused_if_a_line_does_not_fit_into_memory(models):
    models.failing_buckets = {WIDE: NO_MEMORY}
    with pytest.raises(OutOfMemory) as raised:
        await read(models, picture(SHORT, LONG), RecognitionOptions())
    assert raised.value.stage == "recognize"


@pytest.mark.parametrize(
    ("error", "code"), [(NO_MEMORY, "out_of_memory"), (InferenceFailed("the model failed"), "inference_failed")]
)
async def test_a_partial_page_has_the_other_lines_and_says_what_is_missing_where_and_why(models, error, code):
    models.failing_buckets = {WIDE: error}
    before = REGISTRY.get_sample_value("ocr_lines_unread_total", {"code": code}) or 0
    page = await read(models, picture(SHORT, LONG))
    assert summary(page) == (
        ["a", None],
        {"lines_unread": f"lines that could not be read, and are given without text: 1 ({code})"},
    )
    assert page.text == "a"
    np.testing.assert_allclose(page.lines[1].region.quad.mean(axis=0), (100, 110), atol=2)
    assert REGISTRY.get_sample_value("ocr_lines_unread_total", {"code": code}) == before + 1


async def test_a_partial_page_of_which_nothing_could_be_read_is_refused(models):
    models.failing_buckets = {WIDE: NO_MEMORY}
    with pytest.raises(OutOfMemory) as raised:
        await read(models, picture(LONG))
    assert raised.value.stage == "recognize"


async def test_a_server_that_is_away_is_no_reason_for_a_partial_page(models):
    models.failing_buckets = {WIDE: BackendUnavailable("away")}
    with pytest.raises(BackendUnavailable):
        await read(models, picture(SHORT, LONG))


async def test_a_line_with_an_unread_piece_is_unread(models):
    models.failing_buckets = {WIDE: NO_MEMORY}
    texts, _ = summary(await read(models, picture(SHORT, OVERLONG)))
    assert texts == ["a", None]


async def test_a_tall_line_that_could_not_be_read_lying_is_unread(models):
    """Its upright reading alone is most likely nonsense."""
    models.failing_buckets = {WIDE: NO_MEMORY}
    texts, warnings = summary(await read(models, picture(SHORT, TALL), RecognitionOptions(partial=True)))
    assert (texts, set(warnings)) == (["a", None], {"lines_unread"})


async def test_a_line_keeps_its_first_reading_if_the_second_one_fails_which_is_said(models):
    models.score = 0.7
    models.next_errors = [None, NO_MEMORY]
    texts, warnings = summary(await read(models, picture(SHORT), RecognitionOptions(partial=True)))
    assert texts == ["a"]
    assert warnings == {"reread_incomplete": "lines whose second reading failed, so that the first stands: 1"}


async def test_a_page_is_refused_if_a_second_reading_fails(models):
    models.score = 0.7
    models.next_errors = [None, NO_MEMORY]
    with pytest.raises(OutOfMemory):
        await read(models, picture(SHORT), RecognitionOptions())


async def test_a_thin_image_that_could_not_be_read_whole_keeps_its_lines(models):
    models.failing_buckets = {WIDE: NO_MEMORY}
    texts, warnings = summary(await read(models, picture(SHORT, page_height=60), RecognitionOptions(partial=True)))
    assert (texts, set(warnings)) == (["a"], {"reread_incomplete"})


async def test_an_unread_line_is_not_replaced_by_the_whole_image(models):
    models.next_errors = [NO_MEMORY]
    models.score = 0.4
    page = await read(
        models, picture((20, 20, 40, 20), (300, 20, 160, 20), page_height=60), RecognitionOptions(partial=True)
    )
    assert summary(page)[0] == [None]
