"""LiteParse's contract for OCR servers: `POST /ocr` with a form whose file is `file`; boxes in reading order.

It names a language always, English if nothing else; the models read all of theirs at once, so it changes nothing.
"""

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.web.dialects.dialect import Form, Json, answer_pages, choices_of, order_of_file
from gateway.web.services import Services

FILE = "file"
"""The part of the form that holds the picture."""


class LiteParseChoices(BaseModel):
    """What comes with the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    language: str = Field("en", max_length=100)


async def answer(request: Request, services: Services, form: Form) -> Response:
    """Read one file."""
    choices_of(LiteParseChoices, form.fields, "form")
    order = order_of_file(form.files[FILE], PageOptions(), form.deadline, services)
    return await answer_pages(request, services, order, results_of, joined)


def results_of(page: Page, _: int) -> list[Json]:
    """The lines of a page that were read."""
    return [
        {
            "text": line.transcription.text,
            "bbox": _box(line.region.quad),
            "confidence": round(float(line.transcription.score), 4),
            "polygon": _tenths(line.region.quad),
        }
        for line in page.lines
        if line.transcription
    ]


def joined(pages: list[list[Json]]) -> Json:
    """The lines of all pages."""
    return {"results": [result for page in pages for result in page]}


def _box(quad: Quad) -> list[float]:
    """Left, top, right, bottom."""
    corners = np.array(_tenths(quad))
    return [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]


def _tenths(quad: Quad) -> list[list[float]]:
    corners: list[list[float]] = quad.astype(np.float64).round(1).tolist()
    return corners
