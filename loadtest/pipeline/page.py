"""Reading one page in one go, with the gateway's own functions; the two models are given."""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from gateway.arrays import Crop, Image, ProbabilityMap, Rows, RowSteps
from gateway.ocr import ctc
from gateway.ocr.crops import crop_line
from gateway.ocr.detection import prepare_detection
from gateway.ocr.options import DetectionOptions, RecognitionOptions
from gateway.ocr.regions import find_text_regions

LINE_HEIGHT = 48
GREY = 128

Detect = Callable[[Image], ProbabilityMap]
Recognize = Callable[[Rows], Sequence[NDArray[np.generic]]]


def read(data: bytes, detect: Detect, recognize: Recognize, charset: Sequence[str]) -> list[tuple[str, float]]:
    """Text and score of each line; whatever the models raise."""
    image = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)
    options = DetectionOptions()
    prepared = prepare_detection(image, options)
    regions = find_text_regions(detect(prepared.tensor), prepared, options).regions
    if not regions:
        return []
    crops = [crop_line(image, region.crop_quad, line_height=LINE_HEIGHT) for region in regions]
    class_index, probability, space_probability = recognize(padded_to_the_widest(crops))
    steps = RowSteps(class_index.astype(np.int32), probability.astype(np.float32), space_probability.astype(np.float32))
    return [text_and_score(steps, row, crop, charset) for row, crop in enumerate(crops)]


def padded_to_the_widest(crops: Sequence[Crop]) -> Rows:
    """One row a crop, all as wide as the widest."""
    rows = np.full((len(crops), LINE_HEIGHT, max(crop.shape[1] for crop in crops), 3), GREY, np.uint8)
    for row, crop in zip(rows, crops, strict=True):
        row[:, : crop.shape[1]] = crop
    return rows


def text_and_score(steps: RowSteps, row: int, crop: Crop, charset: Sequence[str]) -> tuple[str, float]:
    """What a row says."""
    space = RecognitionOptions().space_probability
    read_line = ctc.decode(steps.line(row), charset, crop_width=crop.shape[1], space_probability=space)
    return read_line.text, read_line.score
