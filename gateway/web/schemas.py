"""The answers, as pydantic models: what is sent is what OpenAPI says, because both come from here."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from gateway.inference.backend import EndpointStatus
from gateway.ocr.elements import Page, Paper, TextLine
from gateway.web.services import ServedModel, ServedModels

Point: TypeAlias = tuple[float, float]
Corners: TypeAlias = tuple[Point, Point, Point, Point]


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


class PageOut(BaseModel):
    """What one image says."""

    number: int = Field(description="Counts from 1.", examples=[1])
    width: int = Field(description="Pixels, after the orientation in the image's metadata was applied.", examples=[448])
    height: int = Field(description="Pixels, likewise.", examples=[96])
    text: str = Field(description="The lines' texts in reading order, one a line.", examples=["Invoice 2026-114"])
    lines: list[LineOut] = Field(description="In reading order; empty for an image without text.")
    image: ImageOut


class WarningOut(BaseModel):
    """Something that a reader of the page should know: a loss, a guess, a limit that was met."""

    code: str = Field(description="For programs.", examples=["line_split"])
    detail: str = Field(description="In words.", examples=["1 line was wider than 2560 pixels and was read in pieces"])
    page: int = Field(description="Number of the page.", examples=[1])


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


class OcrOut(BaseModel):
    """The text of an image, and what read it."""

    request_id: str = Field(
        description="As in the X-Request-Id header and in the service's log.",
        examples=["0f4f9e1c4d7f4b6c9a51f5b0a8f3a2de"],
    )
    model_set: ModelSet
    models: Models
    pages: list[PageOut] = Field(description="One for each image.")
    warnings: list[WarningOut] = Field(description="Empty if nothing was lost, guessed or limited.")


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


def ocr_out(page: Page, served: ServedModels, *, request_id: str) -> OcrOut:
    """The answer of /v1/ocr."""
    return OcrOut(
        request_id=request_id,
        model_set=served.model_set,
        models=_models(served.models),
        pages=[_page(page, number=1)],
        warnings=[WarningOut(code=warning.code, detail=warning.detail, page=1) for warning in page.warnings],
    )


def _models(models: Sequence[ServedModel]) -> list[ModelOut]:
    return [ModelOut(name=model.name, kind=model.kind, version=model.version) for model in models]


def _page(page: Page, *, number: int) -> PageOut:
    lines = [_line(line, quad) for line, quad in zip(page.lines, _rounded_quads(page.lines), strict=True)]
    return PageOut(number=number, width=page.width, height=page.height, text=page.text, lines=lines, image=_image(page))


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


def _rounded_quads(lines: Sequence[TextLine]) -> list[Corners]:
    # Rounded as float64 (scores, too): the float32 nearest to 12.3 is written as 12.300000190734863.
    quads: list[Corners] = np.array([line.region.quad for line in lines], np.float64).round(1).tolist()
    return quads


def _line(line: TextLine, quad: Corners) -> LineOut:
    transcription = line.transcription
    return LineOut(
        quad=quad,
        text=transcription.text if transcription else None,
        score=_rounded(transcription.score) if transcription else None,
        detection_score=_rounded(line.region.score),
        turned=line.turned,
    )


def _rounded(score: float) -> float:
    return round(float(score), 4)
