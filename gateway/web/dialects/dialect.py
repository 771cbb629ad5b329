"""What a dialect is, and what all of them do alike: take a body, order pages, write what comes of them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from gateway.deadline import Deadline
from gateway.documents import Order
from gateway.errors import InvalidRequest
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.ocr.page_ranges import PageRanges
from gateway.web.body import check_declared, read_chunks
from gateway.web.disconnect import while_connected
from gateway.web.orders import opened_and_settled
from gateway.web.problems import Problem
from gateway.web.record import record_of
from gateway.web.services import Services
from gateway.web.writing import headers_of, write_each

ALL_PAGES = PageRanges.parse("1-")

Written = TypeVar("Written")
Value = TypeVar("Value")
Choices = TypeVar("Choices", bound=BaseModel)

Json = dict[str, Any]
"""An answer in a dialect; as free as JSON."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A problem in a dialect's own shape.

    Attributes:
        status: of HTTP.
        content: the body.
    """

    status: int
    content: Json


@dataclass(frozen=True, slots=True)
class Dialect:
    """How another service's clients speak.

    Attributes:
        answer: reads a request and answers it.
        refuse: says a problem.
    """

    answer: Callable[[Request, Services], Awaitable[Response]]
    refuse: Callable[[Problem], Refusal]


@dataclass(frozen=True, slots=True)
class Form:
    """A form, read whole.

    Attributes:
        files: by the names of their parts.
        fields: the other parts.
        deadline: of the request.
    """

    files: Mapping[str, bytes]
    fields: tuple[tuple[str, object], ...]
    deadline: Deadline


def receive_body(request: Request, services: Services) -> tuple[AsyncIterator[bytes], Deadline]:
    """The body as it arrives, within the service's limits, and the request's deadline.

    Raises:
        BodyTooLarge, InvalidRequest: the header says enough.
    """
    limits = services.limits
    check_declared(request.headers, max_bytes=limits.max_body_bytes)
    deadline = Deadline(record_of(request.scope).arrived_at + limits.timeout_s, limits.timeout_s)
    chunks = read_chunks(
        request.receive, max_bytes=limits.max_body_bytes, deadline=deadline, slow_s=limits.body_timeout_s
    )
    return chunks, deadline


def choices_of(model: type[Choices], members: list[tuple[str, object]]) -> Choices:
    """What a client has chosen, checked.

    Raises:
        InvalidRequest: something is unknown, given twice, or has a value that it can't have.
    """
    names = [name for name, _ in members]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidRequest(f"{twice[0]} is given {names.count(twice[0])} times; give it once")
    try:
        return model.model_validate(dict(members))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequest("; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in faults)) from error


async def answer_pages(
    request: Request,
    services: Services,
    order: Order,
    write_page: Callable[[Page, int], Written],
    write_answer: Callable[[list[Written]], Json],
) -> Response:
    """Read an order and answer with what is written of it.

    Raises:
        OcrError: a page could not be read; dialects have no place for the others then.
    """
    record = record_of(request.scope)

    async def written() -> Response:
        async with opened_and_settled(request, order, services) as delivery, aclosing(delivery.results()) as results:
            pages = await write_each(results, write_page, order, record, services)
        content = to_json(write_answer(pages))
        return Response(content, headers=headers_of(delivery, record), media_type="application/json")

    return await while_connected(written(), request.receive)


def given_or(given: Value | None, default: Value) -> Value:
    """What a client has chosen, or else the default."""
    return default if given is None else given


def order_of_file(data: bytes, options: PageOptions, deadline: Deadline, services: Services) -> Order:
    """All pages of one file."""
    return Order((data,), ALL_PAGES, options, services.limits.max_pages, deadline)
