"""Answers in other forms than JSON: each page is written as soon as it is read, on a thread.

These forms have no place for a page that failed, so the first failure is the answer; warnings go into a header.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from gateway import __version__
from gateway.documents import Delivery, Order, PageResult
from gateway.errors import InvalidRequest, OcrError
from gateway.formats.format import About, Format
from gateway.ocr.elements import Page
from gateway.web.orders import note, opened_and_settled, results_of
from gateway.web.record import RequestRecord, record_of
from gateway.web.services import Services

WARNINGS_HEADER = "X-Ocr-Warnings"

Written = TypeVar("Written")


async def write_pages(request: Request, order: Order, chosen: Format, dpi: int, services: Services) -> Response:
    """Read all pages and write them.

    Raises:
        InvalidRequest: there are more pages than the format holds.
        OcrError: a page could not be read.
    """
    record = record_of(request.scope)
    async with (
        opened_and_settled(request, order, services) as delivery,
        aclosing(results_of(request, delivery)) as results,
    ):
        if chosen.single and delivery.total > 1:
            raise InvalidRequest(f"this format holds one page, and there are {delivery.total}; choose one with pages")
        about = About(f"ocr-gateway {__version__}", services.models().model_set, datetime.now(UTC), dpi)
        writer = chosen.begin(about)
        await write_each(results, writer.add, order, record, services)
        with record.times.stage("write"):
            written = await services.pool.run(writer.finish, deadline=order.deadline)
    return Response(written, media_type=chosen.media_type, headers=headers_of(delivery, record))


async def write_each(
    results: AsyncIterator[PageResult],
    write: Callable[[Page, int], Written],
    order: Order,
    record: RequestRecord,
    services: Services,
) -> list[Written]:
    """What `write` makes of each page and its number, on a thread, as soon as it is read.

    Raises:
        OcrError: a page could not be read.
    """
    made: list[Written] = []
    async for result in results:
        page = _page_of(result)
        with record.times.stage("write"):
            made.append(await services.pool.run(write, page, len(made) + 1, deadline=order.deadline))
        note(record, result)
    return made


def headers_of(delivery: Delivery, record: RequestRecord) -> dict[str, str]:
    """The header of an answer that has no other place for times and warnings."""
    of_files = (warning.code for file in delivery.files for warning in file.warnings)
    codes = ", ".join(dict.fromkeys([*of_files, *record.warnings]))
    return {"Server-Timing": record.times.server_timing(), **({WARNINGS_HEADER: codes} if codes else {})}


def _page_of(result: PageResult) -> Page:
    if isinstance(result.outcome, OcrError):
        raise result.outcome
    return result.outcome
