"""The answers, as pydantic models: what is sent is what OpenAPI says, because both come from here."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.documents import Delivery, OrderedFile, PageResult
from gateway.errors import OcrError
from gateway.inference.backend import EndpointStatus
from gateway.ocr.elements import Alternative, Page, Paper, Paragraph, PlacedCharacter, Source, Space, TextLine, Word
from gateway.web.services import ServedModel, ServedModels

Point: TypeAlias = tuple[float, float]
Corners: TypeAlias = tuple[Point, Point, Point, Point]


def _is_none(value: object) -> bool:
    return value is None


class AlternativeOut(BaseModel):
    """What a character may be."""

    text: str = Field(description="Usually one code point.", examples=["l"])
    score: float = Field(description="Its probability, 0 to 1.", examples=[0.0004])


class CharacterOut(BaseModel):
    """One character of a word."""

    text: str = Field(description="Usually one code point.", examples=["I"])
    quad: Corners = Field(description="As high as its line, as wide as its ink; else as a line's.")
    score: float = Field(description="Its probability, 0 to 1.", examples=[0.9991])
    alternatives: list[AlternativeOut] | None = Field(
        default=None,
        description="What it may be, the likeliest first, which is what it was read as; only with alternatives.",
        exclude_if=_is_none,
    )


class WordOut(BaseModel):
    """What stands between spaces; of ideographs, each with its punctuation is one."""

    text: str = Field(description="Without spaces.", examples=["Invoice"])
    quad: Corners = Field(description="As high as its line, from its first character to its last; else as a line's.")
    score: float = Field(description="Mean probability of its characters, 0 to 1.", examples=[0.9912])
    space_before: Space = Field(
        description="What parts it from the word before: nothing, a space that was read, or one that was put back."
    )
    characters: list[CharacterOut] | None = Field(
        default=None, description="Left to right; only with level=char.", exclude_if=_is_none
    )


class LineOut(BaseModel):
    """One line of text."""

    quad: Corners = Field(
        description="Corners [x, y], clockwise from the top-left of the text, in pixels of the upright image.",
        examples=[[[36.0, 24.5], [412.3, 24.5], [412.3, 60.1], [36.0, 60.1]]],
    )
    text: str | None = Field(
        description="What it says; null with recognize=false, or if it could not be read and partial=true.",
        examples=["Invoice 2026-114"],
    )
    score: float | None = Field(
        description="Mean probability of the characters, 0 to 1; null where text is.", examples=[0.9873]
    )
    detection_score: float = Field(description="Mean probability that there is text, 0 to 1.", examples=[0.9121])
    turned: int = Field(
        description="Degrees, clockwise, by which its crop was turned before it was read.",
        json_schema_extra={"enum": [0, 90, 180, 270]},
        examples=[0],
    )
    source: Source = Field(description="Whether it was read, or is text that the file itself has.")
    words: list[WordOut] | None = Field(
        default=None,
        description="Left to right; only with level=word or char, and if it was read.",
        exclude_if=_is_none,
    )


class ImageOut(BaseModel):
    """What a page was made from."""

    format: str = Field(description="The type of the file, as its first bytes say.", examples=["JPEG"])
    mode: str = Field(
        description="The samples of a pixel: RGB, L (grey), P (palette), 1, CMYK, I;16 (16-bit grey) and so on; "
        "an A at its end means transparency.",
        examples=["RGB"],
    )
    width: int = Field(description="Pixels, before the orientation was applied.", examples=[448])
    height: int = Field(description="Pixels, likewise.", examples=[96])
    orientation_applied: bool = Field(description="Whether the metadata's orientation changed anything.")
    frames: int = Field(description="Pictures in the file.", examples=[1])
    paper: Paper | None = Field(description="What it was put on, if it has transparency.", examples=[None])
    scaled: float = Field(
        description="Size at which lines were looked for, of the page's; below 1, small print may be lost.",
        examples=[1.0],
    )


class OrientationOut(BaseModel):
    """How a page's text stands."""

    turned: int = Field(
        description="Degrees, clockwise, by which the page must be turned for its text to be upright; an upright page "
        "of vertical Chinese or Japanese is read turned by 270, and counts as such.",
        json_schema_extra={"enum": [0, 90, 180, 270]},
        examples=[0],
    )
    skew: float = Field(
        description="Degrees, clockwise, by which its text runs off level once the page is turned.", examples=[-1.3]
    )


class ParagraphOut(BaseModel):
    """Lines that belong together, by where they stand."""

    lines: list[int] = Field(description="Their places in lines, from 0.", examples=[[0]])
    quad: Corners = Field(description="Around them all; else as a line's.")


class PageOut(BaseModel):
    """What one page says."""

    file: int = Field(description="Number of its file in the request, from 1.", examples=[1])
    number: int = Field(description="Number in its file, from 1.", examples=[1])
    width: int = Field(description="Pixels, after the orientation in the image's metadata was applied.", examples=[448])
    height: int = Field(description="Pixels, likewise.", examples=[96])
    text: str = Field(description="The lines' texts in reading order, one a line.", examples=["Invoice 2026-114"])
    lines: list[LineOut] = Field(description="In reading order; empty for an image without text.")
    paragraphs: list[ParagraphOut] = Field(description="In reading order; each line is in one.")
    orientation: OrientationOut
    image: ImageOut


class WarningOut(BaseModel):
    """Something that a reader of the page should know: a loss, a guess, a limit that was met."""

    code: str = Field(description="For programs.", examples=["line_split"])
    detail: str = Field(description="In words.", examples=["1 line was wider than 2560 pixels and was read in pieces"])
    file: int = Field(description="Number of the file.", examples=[1])
    page: int | None = Field(description="Number of the page; null if it concerns the whole file.", examples=[1])


class FailureOut(BaseModel):
    """Why a page or a whole file was not read, although others were."""

    file: int = Field(description="Number of the file.", examples=[1])
    page: int | None = Field(description="Number of the page; null if the file could not be opened.", examples=[2])
    code: str = Field(description="As in a problem document.", examples=["unreadable_image"])
    detail: str = Field(description="Likewise.", examples=["the TIFF is truncated or corrupt: decoder error -2"])
    stage: str | None = Field(description="Likewise; null if it happened in none.", examples=["decode"])
    retryable: bool = Field(description="Whether the same page may be read a little later.", examples=[False])


class FileOut(BaseModel):
    """One file of the request."""

    number: int = Field(description="Counts from 1.", examples=[1])
    format: str | None = Field(description="Its type; null if it could not be opened.", examples=["PDF"])
    pages: int | None = Field(description="Pages that it has, read or not; null likewise.", examples=[1])


class ModelOut(BaseModel):
    """A model that is served."""

    name: str = Field(description="Its name in the inference server.", examples=["text_detection"])
    kind: Literal["detection", "recognition"] = Field(description="What it does.")
    version: str = Field(description="Its version in the inference server.", examples=["1"])


ModelSet: TypeAlias = Annotated[
    str, Field(description="A detector and a recogniser that belong together.", examples=["ppocrv6-small"])
]
Models: TypeAlias = Annotated[list[ModelOut], Field(description="Detection first.")]


class ModelsOut(BaseModel):
    """What is served."""

    model_set: ModelSet
    models: Models


RequestId: TypeAlias = Annotated[
    str,
    Field(
        description="As in the X-Request-Id header and in the service's log.",
        examples=["0f4f9e1c4d7f4b6c9a51f5b0a8f3a2de"],
    ),
]
Files: TypeAlias = Annotated[list[FileOut], Field(description="As they came.")]
Warnings: TypeAlias = Annotated[list[WarningOut], Field(description="Empty if nothing was lost, guessed or limited.")]


class OcrOut(BaseModel):
    """The text of images, and what read it."""

    request_id: RequestId
    model_set: ModelSet
    models: Models
    files: Files
    pages: list[PageOut] = Field(description="Those that were read, in order.")
    errors: list[FailureOut] = Field(description="Pages and files that were not, in order; empty if all were.")
    warnings: Warnings


class StartOut(BaseModel):
    """The first line of a stream."""

    event: Literal["start"] = "start"
    request_id: RequestId
    model_set: ModelSet
    models: Models
    files: Files
    total: int = Field(description="How many lines with a page or an error will follow.", examples=[300])


class PageReadOut(BaseModel):
    """A page, as soon as it is read."""

    event: Literal["page"] = "page"
    done: int = Field(description="Lines with a page or an error so far.", examples=[1])
    total: int = Field(description="How many there will be.", examples=[300])
    page: PageOut
    warnings: Warnings


class PageFailedOut(BaseModel):
    """A page or file that could not be read."""

    event: Literal["error"] = "error"
    done: int = Field(description="Lines with a page or an error so far.", examples=[2])
    total: int = Field(description="How many there will be.", examples=[300])
    error: FailureOut


class EndOut(BaseModel):
    """The last line of a stream; without it the stream was cut."""

    event: Literal["end"] = "end"
    pages: int = Field(description="Pages that were read.", examples=[299])
    errors: int = Field(description="Pages and files that were not.", examples=[1])
    warnings: Warnings
    stages_ms: dict[str, float] = Field(
        description="Milliseconds of each stage, which other answers have in the header Server-Timing.",
        examples=[{"decode": 12.3, "detect": 210.4}],
    )


StreamLine: TypeAlias = StartOut | PageReadOut | PageFailedOut | EndOut


class StatusOut(BaseModel):
    """The state of the service."""

    status: str = Field(description="One word.", examples=["ready"])


class EndpointOut(BaseModel):
    """An inference server."""

    address: str = Field(description="Its gRPC address.", examples=["10.0.0.7:8001"])
    state: str = Field(description="What it is doing; it takes calls when it is serving.", examples=["serving"])
    reason: str = Field(description="Why it takes no calls; empty if it does.", examples=[""])


class ReadyOut(StatusOut):
    """The service is ready if one of its inference servers is serving."""

    endpoints: list[EndpointOut] = Field(description="The inference servers; empty if the models run in the service.")


def json_response(answer: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
    """Send an answer as it is; FastAPI would check it a second time."""
    return Response(to_json(answer), headers=headers, media_type="application/json")


def ready_out(endpoints: Sequence[EndpointStatus]) -> ReadyOut:
    """The answer of /readyz."""
    servers = [EndpointOut(address=one.address, state=one.state, reason=one.reason) for one in endpoints]
    return ReadyOut(status="ready", endpoints=servers)


def models_out(served: ServedModels) -> ModelsOut:
    """The answer of /v1/models."""
    return ModelsOut(model_set=served.model_set, models=_models(served.models))


def ocr_out(
    files: Sequence[OrderedFile], results: Sequence[PageResult], served: ServedModels, *, request_id: str
) -> OcrOut:
    """The answer of /v1/ocr."""
    return OcrOut(
        request_id=request_id,
        model_set=served.model_set,
        models=_models(served.models),
        files=[_file(file) for file in files],
        pages=[page_out(result, result.outcome) for result in results if isinstance(result.outcome, Page)],
        errors=[failure_out(result, result.outcome) for result in results if isinstance(result.outcome, OcrError)],
        warnings=[*file_warnings(files), *(warning for result in results for warning in page_warnings(result))],
    )


def start_out(delivery: Delivery, served: ServedModels, *, request_id: str) -> StartOut:
    """The first line of a stream."""
    return StartOut(
        request_id=request_id,
        model_set=served.model_set,
        models=_models(served.models),
        files=[_file(file) for file in delivery.files],
        total=delivery.total,
    )


def result_out(result: PageResult, *, done: int, total: int) -> PageReadOut | PageFailedOut:
    """The line of a page or an error."""
    if isinstance(result.outcome, OcrError):
        return PageFailedOut(done=done, total=total, error=failure_out(result, result.outcome))
    page = page_out(result, result.outcome)
    return PageReadOut(done=done, total=total, page=page, warnings=page_warnings(result))


def file_warnings(files: Sequence[OrderedFile]) -> list[WarningOut]:
    """Those that concern no page."""
    return [
        WarningOut(code=warning.code, detail=warning.detail, file=file.number, page=None)
        for file in files
        for warning in file.warnings
    ]


def page_warnings(result: PageResult) -> list[WarningOut]:
    """Those of a page."""
    warnings = () if isinstance(result.outcome, OcrError) else result.outcome.warnings
    return [
        WarningOut(code=warning.code, detail=warning.detail, file=result.file, page=result.number)
        for warning in warnings
    ]


def failure_out(result: PageResult, error: OcrError) -> FailureOut:
    """A page or file that was not read."""
    return FailureOut(
        file=result.file,
        page=result.number,
        code=error.code,
        detail=error.detail,
        stage=error.stage,
        retryable=error.retryable,
    )


def page_out(result: PageResult, page: Page) -> PageOut:
    """A page that was."""
    return PageOut(
        file=result.file,
        number=result.number or 1,
        width=page.width,
        height=page.height,
        text=page.text,
        lines=[_line(line, quad) for line, quad in zip(page.lines, _rounded_quads(page.lines), strict=True)],
        paragraphs=_paragraphs(page.paragraphs),
        orientation=OrientationOut(turned=page.turned, skew=round(page.skew, 2) + 0.0),
        image=_image(page),
    )


def _file(file: OrderedFile) -> FileOut:
    if isinstance(file.file, OcrError):
        return FileOut(number=file.number, format=None, pages=None)
    info = file.file.info
    return FileOut(number=file.number, format=info.file_type, pages=len(info.page_pixels))


def _models(models: Sequence[ServedModel]) -> list[ModelOut]:
    return [ModelOut(name=model.name, kind=model.kind, version=model.version) for model in models]


def _image(page: Page) -> ImageOut:
    picture = page.picture
    return ImageOut(
        format=picture.file_type,
        mode=picture.mode,
        width=picture.width,
        height=picture.height,
        orientation_applied=picture.turned,
        frames=picture.frames,
        paper=picture.paper,
        scaled=_rounded(page.scaled),
    )


def _paragraphs(paragraphs: Sequence[Paragraph]) -> list[ParagraphOut]:
    quads = _corners([paragraph.quad for paragraph in paragraphs])
    return [ParagraphOut(lines=[*one.lines], quad=quad) for one, quad in zip(paragraphs, quads, strict=True)]


def _rounded_quads(lines: Sequence[TextLine]) -> list[Corners]:
    # Rounded as float64 (scores, too): the float32 nearest to 12.3 is written as 12.300000190734863.
    return _corners([line.region.quad for line in lines])


def _corners(quads: Sequence[Quad]) -> list[Corners]:
    corners: list[Corners] = np.array(quads, np.float64).round(1).tolist()
    return corners


def _line(line: TextLine, quad: Corners) -> LineOut:
    transcription = line.transcription
    return LineOut(
        quad=quad,
        text=transcription.text if transcription else None,
        score=_rounded(transcription.score) if transcription else None,
        detection_score=_rounded(line.region.score),
        turned=line.turned,
        source=line.source,
        words=None if line.words is None else _words(line.words),
    )


def _words(words: Sequence[Word]) -> list[WordOut]:
    return [_word(word, quad) for word, quad in zip(words, _corners([word.quad for word in words]), strict=True)]


def _word(word: Word, quad: Corners) -> WordOut:
    return WordOut(
        text=word.text,
        quad=quad,
        score=_rounded(word.score),
        space_before=word.space_before,
        characters=_characters(word.characters) if word.characters else None,
    )


def _characters(characters: Sequence[PlacedCharacter]) -> list[CharacterOut]:
    quads = _corners([character.quad for character in characters])
    return [
        CharacterOut(
            text=character.text,
            quad=quad,
            score=_rounded(character.score),
            alternatives=_alternatives(character.alternatives) if character.alternatives else None,
        )
        for character, quad in zip(characters, quads, strict=True)
    ]


def _alternatives(alternatives: Sequence[Alternative]) -> list[AlternativeOut]:
    return [AlternativeOut(text=one.text, score=_rounded(one.score)) for one in alternatives]


def _rounded(score: float) -> float:
    return round(float(score), 4)
