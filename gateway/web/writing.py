"""Answers in other forms than JSON: each page is written as soon as it is read, on a thread.

These forms have no place for a page that failed, so the first failure is the answer; warnings go into a header.
"""

from collections.abc import Iterable
from contextlib import aclosing
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from gateway import __version__
from gateway.documents import Order, OrderedFile, PageResult
from gateway.errors import InvalidRequest, OcrError
from gateway.formats.format import About, Format
from gateway.ocr.elements import Page
from gateway.web.orders import note, opened_and_settled
from gateway.web.record import record_of
from gateway.web.services import Services

WARNINGS_HEADER = "X-Ocr-Warnings"


async def write_pages(request: Request, order: Order, chosen: Format, dpi: int, services: Services) -> Response:
    """Read all pages and write them.

    Raises:
        InvalidRequest: there are more pages than the format holds.
        OcrError: a page could not be read.
    """
    record = record_of(request.scope)
    async with opened_and_settled(request, order, services) as delivery, aclosing(delivery.results()) as results:
        if chosen.single and delivery.total > 1:
            raise InvalidRequest(f"this format holds one page, and there are {delivery.total}; choose one with pages")
        about = About(f"ocr-gateway {__version__}", services.models().model_set, datetime.now(UTC), dpi)
        writer = chosen.begin(about)
        number = 0
        async for result in results:
            page = _page_of(result)
            number += 1
            with record.times.stage("write"):
                await services.pool.run(writer.add, page, number, deadline=order.deadline)
            note(record, result)
        with record.times.stage("write"):
            written = await services.pool.run(writer.finish, deadline=order.deadline)
    headers = {"Server-Timing": record.times.server_timing(), **_warnings(delivery.files, record.warnings)}
    return Response(written, media_type=chosen.media_type, headers=headers)


def _page_of(result: PageResult) -> Page:
    if isinstance(result.outcome, OcrError):
        raise result.outcome
    return result.outcome


def _warnings(files: Iterable[OrderedFile], codes: Iterable[str]) -> dict[str, str]:
    """The codes of all warnings, as a header, if there are any."""
    all_codes = dict.fromkeys([*(warning.code for file in files for warning in file.warnings), *codes])
    return {WARNINGS_HEADER: ", ".join(all_codes)} if all_codes else {}
