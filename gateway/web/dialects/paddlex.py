"""PaddleX's and PaddleOCR 3.x's basic serving: `POST /ocr` with JSON.

A picture of the result is made only if `visualize` asks for it, because it is larger than all else. Files are not
fetched from addresses, and pages are not unwarped: both are refused rather than ignored.
"""

from base64 import b64encode
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal

import cv2
import numpy as np
from asgi_correlation_id import correlation_id
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.errors import InvalidRequest
from gateway.formats.boxes import has_space_before
from gateway.formats.picture import annotated
from gateway.ocr.elements import Page, TextLine
from gateway.ocr.options import DetectionOptions, PageOptions
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
from gateway.web.json_body import image_data, parse_members
from gateway.web.problems import Problem
from gateway.web.services import Services

_PAGE = PageOptions()
_SMALLEST_LIMIT_SIDE = 64


class PaddleChoices(BaseModel):
    """A request but for its file, in PaddleX's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fileType: Literal[0, 1] | None = None  # noqa: N815 - all of these are PaddleX's names
    useDocOrientationClassify: bool | None = None  # noqa: N815
    useDocUnwarping: bool | None = None  # noqa: N815
    useTextlineOrientation: bool | None = None  # noqa: N815
    textDetLimitSideLen: int | None = Field(None, ge=1, le=4000)  # noqa: N815
    textDetLimitType: Literal["min", "max"] | None = None  # noqa: N815
    textDetThresh: float | None = Field(None, gt=0, lt=1)  # noqa: N815
    textDetBoxThresh: float | None = Field(None, ge=0, le=1)  # noqa: N815
    textDetUnclipRatio: float | None = Field(None, ge=0, le=5)  # noqa: N815
    textRecScoreThresh: float | None = Field(None, ge=0, le=1)  # noqa: N815
    returnWordBox: bool | None = None  # noqa: N815
    visualize: bool | None = None
    logId: str | None = Field(None, max_length=128)  # noqa: N815

    def page_options(self) -> PageOptions:
        """The same choices in the pipeline's words."""
        if self.useDocUnwarping:
            raise InvalidRequest("useDocUnwarping: pages are not unwarped here; leave it out")
        recognition = _PAGE.recognition
        turns = [one for one in (self.useTextlineOrientation, self.useDocOrientationClassify) if one is not None]
        recognition = replace(
            recognition,
            reread=any(turns) if turns else recognition.reread,
            min_score=given_or(self.textRecScoreThresh, recognition.min_score),
        )
        return PageOptions(
            detection=self._detection(),
            recognition=recognition,
            level="word" if self.returnWordBox else "line",
            keep_image=bool(self.visualize),
        )

    def _detection(self) -> DetectionOptions:
        detection = replace(
            _PAGE.detection,
            binarize_threshold=given_or(self.textDetThresh, _PAGE.detection.binarize_threshold),
            box_threshold=given_or(self.textDetBoxThresh, _PAGE.detection.box_threshold),
            unclip_ratio=given_or(self.textDetUnclipRatio, _PAGE.detection.unclip_ratio),
        )
        if self.textDetLimitSideLen is None:
            return detection
        if self.textDetLimitType != "max":
            return replace(detection, min_side=self.textDetLimitSideLen)
        if self.textDetLimitSideLen < _SMALLEST_LIMIT_SIDE:
            raise InvalidRequest(f"textDetLimitSideLen: with max, at least {_SMALLEST_LIMIT_SIDE}")
        return replace(detection, limit_side=self.textDetLimitSideLen, min_side=0)


async def answer(request: Request, services: Services) -> Response:
    """Read one file."""
    chunks, deadline = receive_body(request, services)
    members = parse_members(await read_all(chunks))
    data = _data([value for name, value in members if name == "file"])
    choices = choices_of(PaddleChoices, [(name, value) for name, value in members if name != "file"])
    options = choices.page_options()
    del members
    order = order_of_file(data, options, deadline, services)
    log_id = choices.logId or correlation_id.get() or ""
    write_page = partial(page_result, choices=choices, options=options)
    return await answer_pages(request, services, order, write_page, partial(success, log_id=log_id))


def _data(files: list[object]) -> bytes:
    if len(files) != 1:
        raise InvalidRequest(f"the body must have one member named file, not {len(files)}")
    return image_data(files[0], "file")


def page_result(page: Page, _: int, *, choices: PaddleChoices, options: PageOptions) -> tuple[Json, Json]:
    """One item of `ocrResults`, and what `dataInfo` says of it."""
    result: Json = {"prunedResult": pruned_result(page, choices, options)}
    if page.image is not None:
        jpeg = cv2.imencode(".jpg", annotated(page.image, page))[1].tobytes()
        result["ocrImage"] = b64encode(jpeg).decode()
    kind = "pdf" if page.picture.file_type == "PDF" else "image"
    return result, {"width": page.width, "height": page.height, "type": kind}


def pruned_result(page: Page, choices: PaddleChoices, options: PageOptions) -> Json:
    """A page in PaddleX's order of keys."""
    lines = [line for line in page.lines if line.transcription]
    polygons = [whole_corners(line.region.quad) for line in lines]
    is_max = choices.textDetLimitType == "max"
    result: Json = {
        "model_settings": {"use_doc_preprocessor": False, "use_textline_orientation": options.recognition.reread},
        "dt_polys": [whole_corners(line.region.quad) for line in page.lines],
        "text_det_params": {
            "limit_side_len": options.detection.limit_side if is_max else options.detection.min_side,
            "limit_type": "max" if is_max else "min",
            "thresh": options.detection.binarize_threshold,
            "box_thresh": options.detection.box_threshold,
            "unclip_ratio": options.detection.unclip_ratio,
        },
        "text_type": "general",
        "textline_orientation_angles": [_half_turns(line, options) for line in page.lines],
        "text_rec_score_thresh": options.recognition.min_score,
        "return_word_box": options.level == "word",
        "rec_texts": [line.transcription.text for line in lines if line.transcription],
        "rec_scores": [round(float(line.transcription.score), 4) for line in lines if line.transcription],
        "rec_polys": polygons,
        "rec_boxes": [_box(line.region.quad) for line in lines],
    }
    if options.level == "word":
        words = [_words(line) for line in lines]
        result["text_word"] = [[text for text, _ in line] for line in words]
        result["text_word_boxes"] = [[box for _, box in line] for line in words]
    return result


def _half_turns(line: TextLine, options: PageOptions) -> int:
    """PaddleX's class of a line: 1 if it stands on its head, -1 if nobody looked."""
    return int(line.turned == 180) if options.recognition.reread else -1


def _words(line: TextLine) -> list[tuple[str, list[int]]]:
    """The words of a line and their boxes; spaces are items, too, with the box of the gap."""
    items: list[tuple[str, list[int]]] = []
    for before, word in pairwise((None, *(line.words or ()))):
        assert word is not None
        if before is not None and has_space_before(word):
            gap = np.stack([before.quad[1], word.quad[0], word.quad[3], before.quad[2]])
            items.append((" ", _box(gap)))
        items.append((word.text, _box(word.quad)))
    return items


def _box(quad: Quad) -> list[int]:
    """Smallest and largest x and y: left, top, right, bottom."""
    corners = np.rint(quad).astype(int)
    return [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]


def success(pages: list[tuple[Json, Json]], *, log_id: str) -> Json:
    """The whole answer."""
    results, infos = [result for result, _ in pages], [info for _, info in pages]
    if infos[0]["type"] == "pdf":
        sizes = [{"width": info["width"], "height": info["height"]} for info in infos]
        data_info: Json = {"numPages": len(infos), "pages": sizes, "type": "pdf"}
    else:
        data_info = infos[0]
    return {
        "logId": log_id,
        "errorCode": 0,
        "errorMsg": "Success",
        "result": {"ocrResults": results, "dataInfo": data_info},
    }


def refuse(problem: Problem) -> Refusal:
    """Its failures repeat the status; what can't be understood is a 422 there."""
    status = 422 if problem.status == 400 else problem.status
    return Refusal(status, {"logId": problem.request_id, "errorCode": status, "errorMsg": problem.detail})


PADDLEX = Dialect(answer, refuse)
