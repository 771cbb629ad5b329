"""NVIDIA's NIM for Image OCR: `POST /v1/infer` with images as data: URIs, answered with places from 0 to 1.

Its levels of merging are words, sentences, which are lines here, and paragraphs, the default.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.errors import InvalidRequest
from gateway.formats.boxes import read_paragraphs
from gateway.ocr.elements import Page, TextLine
from gateway.ocr.options import PageOptions
from gateway.ocr.word_breaks import line_joint
from gateway.web.body import read_all
from gateway.web.dialects.dialect import (
    Dialect,
    Json,
    Refusal,
    answer_files,
    choices_of,
    order_of_files,
    receive_body,
)
from gateway.web.json_body import JsonShape, image_data, parse_members
from gateway.web.problems import Problem
from gateway.web.services import Services

MergeLevel: TypeAlias = Literal["paragraph", "sentence", "word"]

Detections: TypeAlias = Mapping[MergeLevel, list[Json]]
"""What a page says, at each level that was asked for."""

_LEVELS: tuple[MergeLevel, ...] = get_args(MergeLevel)
_BYTES_PER_MB = 1_000_000


class NimChoices(BaseModel):
    """The whole of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: list[object]
    merge_levels: list[str] | None = None


class NimInput(BaseModel):
    """One image."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["image_url"]
    url: str


async def answer(request: Request, services: Services) -> Response:
    """Read several files."""
    chunks, deadline = receive_body(request, services)
    max_files = services.limits.max_files
    shape = JsonShape(objects=1 + max_files, lists=2, commas=5 * max_files)
    choices = choices_of(NimChoices, parse_members(await read_all(chunks), shape))
    files = _files(choices.input, max_files)
    levels = _levels(choices.merge_levels, len(files))
    options = PageOptions(level="word" if "word" in levels else "line")
    order = order_of_files(files, options, deadline, services)
    size_mb = sum(map(len, files)) / _BYTES_PER_MB
    write_page = partial(detections_of, levels=levels)
    write_answer = partial(success, levels=levels, model=services.models().model_set, size_mb=size_mb)
    return await answer_files(request, services, order, write_page, write_answer)


def _files(images: Sequence[object], max_files: int) -> list[bytes]:
    if not 0 < len(images) <= max_files:
        raise InvalidRequest(f"input must have 1 to {max_files} images, not {len(images)}")
    return [_data(image, number) for number, image in enumerate(images)]


def _data(image: object, number: int) -> bytes:
    if not isinstance(image, tuple):
        raise InvalidRequest(f"input[{number}] must be an object with type and url")
    return image_data(choices_of(NimInput, image, f"object input[{number}]").url, f"input[{number}].url")


def _levels(levels: Sequence[str] | None, images: int) -> list[MergeLevel]:
    """A level for each image."""
    if levels is None:
        return ["paragraph"] * images
    if len(levels) != images:
        raise InvalidRequest(f"merge_levels must have one level for each of the {images} images, not {len(levels)}")
    return [_level(level) for level in levels]


def _level(given: str) -> MergeLevel:
    for level in _LEVELS:
        if given == level:
            return level
    raise InvalidRequest(f"merge_levels has {given!r}, but a level is {' or '.join(_LEVELS)} here")


def detections_of(page: Page, _: int, *, levels: Sequence[MergeLevel]) -> Detections:
    """What a page says, at each of these levels."""
    return {level: _WRITERS[level](page) for level in set(levels)}


def _paragraphs(page: Page) -> list[Json]:
    return [_paragraph(page, [line for _, line in one.lines], one.quad) for one in read_paragraphs(page)]


def _paragraph(page: Page, lines: Sequence[TextLine], quad: Quad) -> Json:
    read = [line.transcription for line in lines if line.transcription]
    joints = [*(line_joint(one.text) for one in read[:-1]), ""]
    text = "".join(one.text + joint for one, joint in zip(read, joints, strict=True))
    return _detection(page, text, fmean(one.score for one in read), quad)


def _lines(page: Page) -> list[Json]:
    return [
        _detection(page, line.transcription.text, line.transcription.score, line.region.quad)
        for line in page.lines
        if line.transcription
    ]


def _words(page: Page) -> list[Json]:
    return [_detection(page, word.text, word.score, word.quad) for line in page.lines for word in line.words or ()]


_WRITERS: Mapping[MergeLevel, Callable[[Page], list[Json]]] = {
    "paragraph": _paragraphs,
    "sentence": _lines,
    "word": _words,
}


def _detection(page: Page, text: str, score: float, quad: Quad) -> Json:
    points = [{"x": round(float(x) / page.width, 5), "y": round(float(y) / page.height, 5)} for x, y in quad]
    return {
        "text_prediction": {"text": text, "confidence": round(float(score), 4)},
        "bounding_box": {"points": points, "type": "quadrilateral"},
    }


def success(files: list[list[Detections]], *, levels: Sequence[MergeLevel], model: str, size_mb: float) -> Json:
    """An item for each page, with the index of its image."""
    data = [
        {"index": index, "text_detections": page[level]}
        for index, (pages, level) in enumerate(zip(files, levels, strict=True))
        for page in pages
    ]
    return {"data": data, "model": model, "usage": {"images_size_mb": round(size_mb, 6)}}


def refuse(problem: Problem) -> Refusal:
    """As FastAPI's own errors, which it has; what can't be understood is a 422 there."""
    return Refusal(422 if problem.status == 400 else problem.status, {"detail": problem.detail})


NIM = Dialect(answer, refuse)
