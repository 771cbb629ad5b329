"""Two models that see dark bars for lines of text, so that a test writes a page by drawing bars.

A bar's blue tells its letter. Its left half is a little greener than its right half, by which the recogniser tells
that it stands upright: upside down it reads the same letter with a low score.
"""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import cv2
import numpy as np

from gateway.arrays import RowSteps, StepAlternatives
from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
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
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DetectionOptions, PageOptions
from gateway.pipeline import OcrPipeline

CHARSET = ("", "a", "b", "c", "d", " ")
BLUE_STEP = 12
GREENER = 60
UPRIGHT_SCORE, UPSIDE_DOWN_SCORE, UNSURE_SCORE = 0.99, 0.7, 0.2
BUCKETS = (160, 640)


@dataclass(frozen=True)
class Bar:
    """A line on a page: the place of its left upper corner, its size, its letter."""

    left: int
    top: int
    width: int
    height: int
    letter: str = "a"


class FakeModels:
    """A backend. `errors` holds what the next calls raise, by the name of the method; None lets one pass."""

    def __init__(self):
        detection = DetectionContract((DetectionModel("text_detection", "1"),))
        recognition = RecognitionContract((RecognitionModel("text_recognition", "1"),), 48, BUCKETS, CHARSET)
        self.contract = Contract("fake", detection, recognition)
        self.last_answer_at = 0.0
        self.outage = ""
        self.servers = 1
        self.endpoints = ()
        self.errors = {"detect": [], "recognize": []}
        self.timeouts = []
        self.chunks = []
        self.closed = False

    async def detect(self, image, *, timeout_s):
        self.timeouts.append(timeout_s)
        self._fail("detect")
        return np.where(image[..., 0] < 128, np.uint8(255), np.uint8(0))

    async def recognize(self, rows, *, timeout_s, alternatives=False):
        self.timeouts.append(timeout_s)
        self.chunks.append(rows.shape)
        self._fail("recognize")
        steps = (len(rows), rows.shape[2] // 8)
        class_index, probability = np.zeros(steps, np.int32), np.ones(steps, np.float32)
        for row, crop in enumerate(rows):
            class_index[row, 1], probability[row, 1] = read_bar(crop)
        given = second_letters(class_index, probability) if alternatives else None
        return RowSteps(class_index, probability, np.zeros(steps, np.float32), given)

    def give_alternatives(self):
        """From now on two classes of each step can be had."""
        self.contract = replace(self.contract, recognition=replace(self.contract.recognition, alternatives=2))

    async def wait_for_return(self):
        pass

    async def refresh(self):
        pass

    async def close(self):
        self.closed = True

    def _fail(self, method):
        error = self.errors[method].pop(0) if self.errors[method] else None
        if error:
            raise error


def second_letters(class_index, probability):
    """Each step's class, and the next one of the charset with what is left."""
    return StepAlternatives(
        np.stack([class_index, class_index + 1], axis=-1), np.stack([probability, 1 - probability], axis=-1)
    )


def read_bar(crop):
    """The class of the bar in a padded crop, and its score."""
    dark = crop[24][crop[24, :, 0] < 100]
    if len(dark) == 0:
        return 0, UNSURE_SCORE
    letter = min(round(float(np.median(dark[:, 0])) / BLUE_STEP), len(CHARSET) - 1)
    left, right = (half[:, 1].mean() for half in np.array_split(dark, 2))
    if abs(left - right) < GREENER / 4:
        return letter, UNSURE_SCORE
    return letter, UPRIGHT_SCORE if left > right else UPSIDE_DOWN_SCORE


def picture(*bars, height=400, width=640):
    """An image with these bars."""
    image = np.full((height, width, 3), 255, np.uint8)
    for bar in bars:
        blue = CHARSET.index(bar.letter) * BLUE_STEP
        middle = bar.left + bar.width // 2
        image[bar.top : bar.top + bar.height, bar.left : middle] = (blue, GREENER, 0)
        image[bar.top : bar.top + bar.height, middle : bar.left + bar.width] = (blue, 0, 0)
    return image


def png(image):
    return cv2.imencode(".png", image)[1].tobytes()


@asynccontextmanager
async def pipeline_on(models):
    with CpuPool(1) as pool:
        lines = LineReader(models, Batcher(models, BatchLimits()), pool)
        yield OcrPipeline(models, Detector(models, calls_in_flight=1), lines, pool, Decoders(pool, DecodeLimits()))


@asynccontextmanager
async def line_reader_on(models):
    with CpuPool(1) as pool:
        yield LineReader(models, Batcher(models, BatchLimits()), pool)


async def read(models, image, *, deadline=None, times=None, **options):
    """The page of an image, which is not enlarged."""
    options.setdefault("detection", DetectionOptions(min_side=0))
    async with pipeline_on(models) as pipeline:
        return await pipeline.read_first(
            image if isinstance(image, bytes) else png(image),
            PageOptions(**options),
            deadline=deadline or Deadline.after(60),
            times=times or StageTimes(),
        )


async def settle():
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)
