"""What both kinds of answer share: an order is opened, given room, and noted."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

from starlette.requests import Request

from gateway.deadline import Deadline
from gateway.documents import Delivery, Order, PageResult, opened
from gateway.errors import InvalidRequest, OcrError
from gateway.inference.contract import require_alternatives
from gateway.metrics import count_failed_page, count_page, count_scores
from gateway.web.payload import Payload
from gateway.web.permits import permit_of
from gateway.web.record import RequestRecord, record_of
from gateway.web.services import Services

Answer = TypeVar("Answer")


def order_of(payload: Payload, services: Services) -> Order:
    """What a request orders.

    Raises:
        InvalidRequest: it wants a model set that is not served, or alternatives that the served one does not give.
    """
    options = payload.options
    if options.model_set and options.model_set != (served := services.models().model_set):
        raise InvalidRequest(f"model_set is '{options.model_set}', which is not served; served: {served}")
    if options.alternatives:
        require_alternatives(options.alternatives, services.models().alternatives)
    return Order(
        payload.files, options.page_ranges(), options.page_options(), services.limits.max_pages, payload.deadline
    )


@asynccontextmanager
async def opened_and_settled(request: Request, order: Order, services: Services) -> AsyncIterator[Delivery]:
    """The order, opened, once there is room for the pixels that it holds at once.

    Raises:
        OcrError: nothing of it can be read, or there was no room in time.
    """
    times = record_of(request.scope).times
    async with opened(services.pipeline, order, times) as delivery:
        if permit := permit_of(request.scope):
            with times.stage("admission"):
                await permit.settle(delivery.pixels)
        yield delivery


async def results_of(request: Request, delivery: Delivery) -> AsyncGenerator[PageResult, None]:
    """The results of a delivery; each counts for the pace of the service: a long document is no halt."""
    permit = permit_of(request.scope)
    async with aclosing(delivery.results()) as results:
        async for result in results:
            if permit:
                permit.progress()
            yield result


async def built(build: Callable[[], Answer], order: Order, deadline: Deadline, services: Services) -> Answer:
    """What `build` makes; on a thread if pages have words, for a thousand lines of them take half a second."""
    return build() if order.options.level == "line" else await services.pool.run(build, deadline=deadline)


def note(record: RequestRecord, result: PageResult) -> None:
    """Count a result, and add it to the request's record."""
    if isinstance(result.outcome, OcrError):
        count_failed_page(result.outcome.code)
        record.failed_pages += 1
        return
    warnings = tuple(warning.code for warning in result.outcome.warnings)
    record.lines = (record.lines or 0) + len(result.outcome.lines)
    scores = [line.transcription.score for line in result.outcome.lines if line.transcription]
    if record.release:
        count_scores(record.release, scores)
    record.warnings = (*record.warnings, *(code for code in warnings if code not in record.warnings))
    count_page(result.outcome.width * result.outcome.height, len(result.outcome.lines), warnings)
