"""RapidOCR's API (rapidocr_api): `POST /ocr` with a form, answered with lines by their numbers.

Its switches belong to one request here; there, what one client sends stays for the next.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.errors import InvalidRequest
from gateway.ocr.elements import Page, TextLine
from gateway.ocr.options import PageOptions
from gateway.web.dialects.dialect import (
    Form,
    Json,
    answer_pages,
    choices_of,
    given_or,
    order_of_file,
)
from gateway.web.json_body import image_data
from gateway.web.services import Services

FILE, BASE64 = "image_file", "image_data"
"""Parts of the form; of both, the file wins."""

_PAGE = PageOptions()


class RapidChoices(BaseModel):
    """The switches of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    use_det: bool | None = None
    use_cls: bool | None = None
    use_rec: bool | None = None
    text_score: float | None = Field(None, ge=0, le=1)
    box_thresh: float | None = Field(None, ge=0, le=1)
    unclip_ratio: float | None = Field(None, ge=0, le=5)

    def page_options(self) -> PageOptions:
        """The same choices in the pipeline's words; the recogniser does the classifier's work."""
        if self.use_det is False and self.use_rec is False:
            raise InvalidRequest("use_det and use_rec can't both be false: nothing would be left to do")
        detection, recognition = _PAGE.detection, _PAGE.recognition
        return PageOptions(
            detect=given_or(self.use_det, _PAGE.detect),
            recognize=given_or(self.use_rec, _PAGE.recognize),
            detection=replace(
                detection,
                box_threshold=given_or(self.box_thresh, detection.box_threshold),
                unclip_ratio=given_or(self.unclip_ratio, detection.unclip_ratio),
            ),
            recognition=replace(
                recognition,
                reread=given_or(self.use_cls, recognition.reread),
                min_score=given_or(self.text_score, recognition.min_score),
            ),
        )


async def answer(request: Request, services: Services, form: Form) -> Response:
    """Read one file."""
    options = choices_of(RapidChoices, form.fields, "form").page_options()
    order = order_of_file(_data(form.files), options, form.deadline, services)
    return await answer_pages(request, services, order, partial(lines_of, scored=options.recognize), numbered)


def _data(files: Mapping[str, bytes]) -> bytes:
    if FILE in files:
        return files[FILE]
    return image_data(files[BASE64].decode("latin-1"), BASE64)


def lines_of(page: Page, _: int, *, scored: bool) -> list[Json]:
    """The lines of a page; without recognition, with the score of their places."""
    return [_line(line, scored=scored) for line in page.lines]


def _line(line: TextLine, *, scored: bool) -> Json:
    score = line.transcription.score if scored and line.transcription else line.region.score
    return {
        "rec_txt": line.transcription.text if line.transcription else "",
        "dt_boxes": [[round(float(x), 1), round(float(y), 1)] for x, y in line.region.quad],
        "score": round(float(score), 4),
    }


def numbered(pages: list[list[Json]]) -> Json:
    """The lines of all pages, by their numbers from 0."""
    return {str(number): line for number, line in enumerate(line for page in pages for line in page)}
