"""PaddleOCR 2.x behind PaddleHub Serving: `POST /predict/ocr_system` with a list of images in base64.

It has no options: the service's own defaults hold. There, one that can't be decoded is an empty list; here its problem
is the answer, because nobody could tell it from a blank page.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from gateway.errors import InvalidRequest
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.web.body import read_all
from gateway.web.dialects.dialect import (
    Dialect,
    Json,
    Refusal,
    answer_files,
    choices_of,
    order_of_files,
    receive_body,
    whole_corners,
)
from gateway.web.json_body import JsonShape, image_data, parse_members
from gateway.web.problems import Problem
from gateway.web.services import Services

SUCCESS, FAILURE = "000", "101"
"""PaddleHub's `status`: of a result, and of what a module raised."""


class HubChoices(BaseModel):
    """The whole of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: list[object]


async def answer(request: Request, services: Services) -> Response:
    """Read several files."""
    chunks, deadline = receive_body(request, services)
    max_files = services.limits.max_files
    members = parse_members(await read_all(chunks), JsonShape(commas=3 * max_files))
    files = _files(choices_of(HubChoices, members).images, max_files)
    del members
    order = order_of_files(files, PageOptions(), deadline, services)
    return await answer_files(request, services, order, lines_of, success)


def _files(images: Sequence[object], max_files: int) -> list[bytes]:
    if not 0 < len(images) <= max_files:
        raise InvalidRequest(f"images must have 1 to {max_files} images in base64, not {len(images)}")
    return [image_data(image, f"image {number} of images") for number, image in enumerate(images, 1)]


def lines_of(page: Page, _: int) -> list[Json]:
    """The lines of a page that were read."""
    return [
        {
            "confidence": round(float(line.transcription.score), 4),
            "text": line.transcription.text,
            "text_region": whole_corners(line.region.quad),
        }
        for line in page.lines
        if line.transcription
    ]


def success(files: list[list[list[Json]]]) -> Json:
    """A list of lines for each file, whatever pages it has."""
    results = [[line for page in pages for line in page] for pages in files]
    return {"msg": "", "results": results, "status": SUCCESS}


def refuse(problem: Problem) -> Refusal:
    """As PaddleHub says what a module raised; there with the status 200, which would hide it from proxies."""
    return Refusal(problem.status, {"msg": problem.detail, "results": "", "status": FAILURE})


HUB_SERVING = Dialect(answer, refuse)
