"""Umi-OCR's HTTP interface: `POST /api/ocr` with base64 and options, and `GET /api/ocr/get_options`, which lists them.

Languages are taken if the models read them, and change nothing: they read all of theirs at once. Layouts that need what
this service does not do (indentation, columns taken for one) are refused by name.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.formats.boxes import read_paragraphs
from gateway.ocr.elements import Page, TextLine
from gateway.ocr.options import PageOptions
from gateway.ocr.word_breaks import line_joint
from gateway.web.body import read_all
from gateway.web.dialects.dialect import (
    Dialect,
    Json,
    Refusal,
    answer_pages,
    choices_of,
    given_or,
    order_of_file,
    receive_body,
    whole_corners,
)
from gateway.web.json_body import JsonShape, image_data, parse_members
from gateway.web.problems import Problem
from gateway.web.record import record_of
from gateway.web.services import Services

SUCCESS, NO_TEXT = 100, 101
"""Umi's codes; that of a failure is its HTTP status."""

Language: TypeAlias = Literal[
    "models/config_chinese.txt",
    "models/config_en.txt",
    "models/config_chinese_cht(v2).txt",
    "models/config_japan.txt",
]
LimitSide: TypeAlias = Literal[2000, 960, 2880, 4320, 999999]
"""The first is this service's default; those beyond the limit of an option mean no limit."""

Parser: TypeAlias = Literal["multi_para", "multi_line", "multi_none", "none"]
DataFormat: TypeAlias = Literal["dict", "text"]

Corner: TypeAlias = tuple[float, float]
Area: TypeAlias = tuple[Corner, Corner]
"""Its upper left and its lower right corner."""

_MAX_AREAS = 100
_LARGEST_LIMIT_SIDE = 4000
_SHAPE = JsonShape(objects=2, lists=1 + 3 * _MAX_AREAS, commas=20 + 4 * _MAX_AREAS)
_PAGE = PageOptions()


class UmiRequest(BaseModel):
    """The whole of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base64: str
    options: tuple[tuple[str, object], ...] = ()


class UmiChoices(BaseModel):
    """The options of a request, in Umi's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: Language = Field("models/config_chinese.txt", alias="ocr.language")
    cls: bool | None = Field(None, alias="ocr.cls")
    limit_side_len: LimitSide = Field(2000, alias="ocr.limit_side_len")
    parser: Parser = Field("multi_para", alias="tbpu.parser")
    ignored: Annotated[tuple[Area, ...], Field(max_length=_MAX_AREAS)] = Field((), alias="tbpu.ignoreArea")
    data_format: DataFormat = Field("dict", alias="data.format")

    def page_options(self) -> PageOptions:
        """The same choices in the pipeline's words."""
        recognition = replace(_PAGE.recognition, reread=given_or(self.cls, _PAGE.recognition.reread))
        is_limit = self.limit_side_len <= _LARGEST_LIMIT_SIDE
        limit_side = self.limit_side_len if is_limit else _PAGE.detection.limit_side
        detection = replace(_PAGE.detection, limit_side=limit_side, tile=not is_limit)
        return replace(_PAGE, recognition=recognition, detection=detection)


async def answer(request: Request, services: Services) -> Response:
    """Read one file."""
    record, began_at = record_of(request.scope), time.time()
    chunks, deadline = receive_body(request, services)
    asked = choices_of(UmiRequest, parse_members(await read_all(chunks), _SHAPE))
    choices = choices_of(UmiChoices, asked.options, "options")
    order = order_of_file(image_data(asked.base64, "base64"), choices.page_options(), deadline, services)

    def write_answer(pages: list[list[Json]]) -> Json:
        lines = [line for page in pages for line in page]
        seconds = round(time.monotonic() - record.arrived_at, 4)
        return {**result(lines, choices.data_format), "time": seconds, "timestamp": began_at}

    return await answer_pages(request, services, order, partial(lines_of, choices=choices), write_answer)


def lines_of(page: Page, _: int, *, choices: UmiChoices) -> list[Json]:
    """The lines of a page that were read, but for those within ignored areas."""
    return [line for one in read_paragraphs(page) for line in _paragraph([line for _, line in one.lines], choices)]


def _paragraph(lines: Sequence[TextLine], choices: UmiChoices) -> list[Json]:
    kept = [
        (line.transcription, line.region.quad)
        for line in lines
        if line.transcription and not any(_within(line.region.quad, area) for area in choices.ignored)
    ]
    return [
        {
            "text": read.text,
            "score": round(float(read.score), 4),
            "box": whole_corners(quad),
            "end": end_of(read.text, choices.parser, is_last=number == len(kept)),
        }
        for number, (read, quad) in enumerate(kept, 1)
    ]


def end_of(text: str, parser: Parser, *, is_last: bool) -> str:
    """What parts a line from the next: a line feed, or what keeps its last word apart where lines are joined."""
    is_joined = parser == "multi_none" or (parser == "multi_para" and not is_last)
    return line_joint(text) if is_joined else "\n"


def _within(quad: Quad, area: Area) -> bool:
    (left, top), (right, bottom) = area
    x, y = quad[:, 0], quad[:, 1]
    return bool(x.min() >= left and x.max() <= right and y.min() >= top and y.max() <= bottom)


def result(lines: Sequence[Mapping[str, str]], data_format: DataFormat) -> Json:
    """Code and data: the lines, or their text."""
    if not lines:
        return {"code": NO_TEXT, "data": "No text found in the picture."}
    if data_format == "text":
        return {"code": SUCCESS, "data": "".join(line["text"] + line["end"] for line in lines)}
    return {"code": SUCCESS, "data": lines}


def described_options() -> Json:
    """What `GET /api/ocr/get_options` says: every option with its values, as Umi's own form needs them."""
    return {
        "ocr.language": _choice("Language: the models read all of these at once", get_args(Language)),
        "ocr.cls": {"title": "Read doubtful lines turned, too", "default": _PAGE.recognition.reread, "type": "boolean"},
        "ocr.limit_side_len": _choice("Longest side at which lines are looked for", get_args(LimitSide)),
        "tbpu.parser": _choice("How lines end", get_args(Parser)),
        "tbpu.ignoreArea": {
            "title": "Areas whose lines are left out",
            "toolTip": "A list of [[left, top], [right, bottom]].",
            "default": [],
            "type": "var",
        },
        "data.format": _choice("Form of the data", get_args(DataFormat)),
    }


def _choice(title: str, values: Sequence[str | int]) -> Json:
    pairs = [[value, str(value)] for value in values]
    return {"title": title, "optionsList": pairs, "type": "enum", "default": values[0]}


def refuse(problem: Problem) -> Refusal:
    """Umi answers with 200 always; here the status stays, for proxies and for clients that look at it."""
    return Refusal(problem.status, {"code": problem.status, "data": problem.detail})


UMI = Dialect(answer, refuse)
