"""Holding an edited model against its original, on noise and on rendered text, in ONNX Runtime on the CPU.

The edits change no arithmetic of the network, and the input is normalised by the same two operations that the reference
does here, so classes must be identical. Tolerances leave room for another order of additions in another version.
"""

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from triton_models.catalog import LINE_HEIGHT, Normalization
from triton_models.errors import VerificationError
from triton_models.graph import (
    ALTERNATIVE_CLASS_INDEX,
    ALTERNATIVE_PROBABILITY,
    CLASS_INDEX,
    DETECTION_INPUT,
    DETECTION_OUTPUT,
    NO_ALTERNATIVES,
    PROBABILITY,
    RECOGNITION_INPUT,
    SPACE_PROBABILITY,
)

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]

PROBABILITY_TOLERANCE = 1e-5
MAP_TOLERANCE = 1
"""In 255ths: a probability next to a half may round to the other side."""
MAP_SHARE = 1e-4
"""Of the pixels, that may differ by the tolerance."""
BINARIZE_THRESHOLD = 0.3
"""The usual one of DB post-processing; falls between two values of the map."""
THRESHOLD_TOLERANCE = 1e-6

_TEXT = ("The quick brown fox, 1234567890", "jumps over (the) lazy dog: 50%", "Total: $1,234.56 - ref. #2041/B")
_INK = (32, 16, 48)
_PAPER = (240, 248, 232)


def verify_detection(
    original: onnxruntime.InferenceSession, edited: onnxruntime.InferenceSession, normalization: Normalization
) -> None:
    """Compare two detectors on a page and on noise.

    Raises:
        VerificationError: the map is not the rounded probability, up to the tolerances of this module.
    """
    for name, image in {"text": render_page(192, 320), "noise": make_noise(128, 160)}.items():
        batch = image[np.newaxis]
        expected = _run_original(original, batch, normalization)[:, 0]
        (actual,) = edited.run([DETECTION_OUTPUT], {DETECTION_INPUT: batch})
        check_map(expected, actual, sample=name)


def verify_recognition(
    original: onnxruntime.InferenceSession,
    edited: onnxruntime.InferenceSession,
    normalization: Normalization,
    alternatives: int = NO_ALTERNATIVES,
) -> None:
    """Compare two recognisers on lines and on noise; `alternatives` is how many the edited one gives.

    Raises:
        VerificationError: a class differs, or a probability by more than the tolerance.
    """
    lines = np.stack([*(render_line(text, 480) for text in _TEXT), make_noise(LINE_HEIGHT, 480)])
    expected = _run_original(original, lines, normalization)
    outputs = [CLASS_INDEX, PROBABILITY, SPACE_PROBABILITY]
    class_index, probability, space_probability = edited.run(outputs, {RECOGNITION_INPUT: lines})
    check_classes(expected.argmax(axis=2), class_index)
    check_probabilities(PROBABILITY, expected.max(axis=2), probability)
    check_probabilities(SPACE_PROBABILITY, expected[:, :, -1], space_probability)
    if alternatives > NO_ALTERNATIVES:
        outputs = [ALTERNATIVE_CLASS_INDEX, ALTERNATIVE_PROBABILITY]
        check_alternatives(expected, alternatives, *edited.run(outputs, {RECOGNITION_INPUT: lines}))


def check_map(expected: Floats, actual: Pixels, *, sample: str) -> None:
    """A uint8 map against the probabilities it stands for; VerificationError if it does not."""
    _check_shape(DETECTION_OUTPUT, expected.shape, actual.shape)
    difference = np.abs(np.rint(255 * expected) - actual)
    share = float((difference > 0).mean())
    if difference.max() > MAP_TOLERANCE or share > MAP_SHARE:
        raise VerificationError(
            f"{DETECTION_OUTPUT} of {sample} differs by up to {difference.max():.0f} on {share:.2%} of the pixels; "
            f"allowed are {MAP_TOLERANCE} on {MAP_SHARE:.2%}"
        )
    certain = np.abs(expected - BINARIZE_THRESHOLD) > THRESHOLD_TOLERANCE
    turned = ((expected > BINARIZE_THRESHOLD) != (actual > 255 * BINARIZE_THRESHOLD)) & certain
    if turned.any():
        raise VerificationError(f"{DETECTION_OUTPUT} of {sample} binarizes otherwise on {turned.sum()} pixels")


def check_classes(expected: NDArray[np.int64], actual: NDArray[np.int32]) -> None:
    """Classes must be identical; VerificationError if one is not."""
    _check_shape(CLASS_INDEX, expected.shape, actual.shape)
    wrong = int((expected != actual).sum())
    if wrong:
        raise VerificationError(f"{CLASS_INDEX} differs in {wrong} of {expected.size} steps")


def check_alternatives(
    expected: Floats, alternatives: int, class_index: NDArray[np.int32], probability: Floats
) -> None:
    """The best classes of each step against all probabilities; VerificationError if they are others.

    By their probabilities: far down two classes may be as likely as each other, and either may come first.
    """
    best = -np.sort(-expected, axis=2)[..., :alternatives]
    check_probabilities(ALTERNATIVE_PROBABILITY, best, probability)
    _check_shape(ALTERNATIVE_CLASS_INDEX, best.shape, class_index.shape)
    check_probabilities(ALTERNATIVE_CLASS_INDEX, np.take_along_axis(expected, class_index, axis=2), probability)


def check_probabilities(name: str, expected: Floats, actual: Floats) -> None:
    """Probabilities must agree; VerificationError if one differs by more than the tolerance."""
    _check_shape(name, expected.shape, actual.shape)
    difference = float(np.abs(expected - actual).max())
    if not difference <= PROBABILITY_TOLERANCE:  # not-a-number must fail too
        raise VerificationError(f"{name} differs by {difference:.2g}, allowed is {PROBABILITY_TOLERANCE:.2g}")


def render_line(text: str, width: int) -> Pixels:
    """A line of text in Pillow's own font: (48, width, 3), cut where it is too long."""
    image = Image.new("RGB", (width, LINE_HEIGHT), _PAPER)
    ImageDraw.Draw(image).text((8, 6), text, fill=_INK, font=ImageFont.load_default(size=28))
    return np.asarray(image)


def render_page(height: int, width: int) -> Pixels:
    """Lines of text, one below the other: (height, width, 3)."""
    page = np.full((height, width, 3), _PAPER, np.uint8)
    for top, text in zip(range(0, height - LINE_HEIGHT + 1, LINE_HEIGHT + 8), _TEXT, strict=False):
        page[top : top + LINE_HEIGHT] = render_line(text, width)
    return page


def make_noise(height: int, width: int) -> Pixels:
    """The same noise at every call: (height, width, 3)."""
    return np.random.default_rng(height * width).integers(0, 256, (height, width, 3), np.uint8)


def _run_original(session: onnxruntime.InferenceSession, batch: Pixels, normalization: Normalization) -> Floats:
    planes = batch.transpose(0, 3, 1, 2).astype(np.float32)
    mean, scale = (
        np.asarray(values, np.float32).reshape(1, 3, 1, 1) for values in (normalization.mean, normalization.scale)
    )
    probabilities: Floats = session.run(None, {session.get_inputs()[0].name: (planes - mean) * scale})[0]
    return probabilities


def _check_shape(name: str, expected: tuple[int, ...], actual: tuple[int, ...]) -> None:
    if expected != actual:
        raise VerificationError(f"{name} has shape {actual}, expected {expected}")
