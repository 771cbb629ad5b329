"""What a dialect is, and what all of them do alike: take a body, order pages, write what comes of them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from gateway.arrays import Quad
from gateway.deadline import Deadline
from gateway.documents import Order
from gateway.errors import InvalidRequest
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.ocr.page_ranges import PageRanges
from gateway.web.body import check_declared, read_chunks
from gateway.web.disconnect import while_connected
from gateway.web.options import unknown_option
from gateway.web.orders import opened_and_settled, results_of
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


def choices_of(model: type[Choices], members: Sequence[tuple[str, object]], place: str = "JSON body") -> Choices:
    """What a client has chosen in a place of its request, checked.

    Raises:
        InvalidRequest: something is unknown, given twice, or has a value that it can't have.
    """
    names, known = [name for name, _ in members], option_names(model)
    for name in names:
        if name not in known:
            raise unknown_option(name, place, known)
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidRequest(f"{twice[0]} is given {names.count(twice[0])} times; give it once")
    try:
        return model.model_validate(dict(members))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidRequest("; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in faults)) from error


def option_names(model: type[BaseModel]) -> tuple[str, ...]:
    """What may be chosen, as clients spell it."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


async def answer_pages(
    request: Request,
    services: Services,
    order: Order,
    write_page: Callable[[Page, int], Written],
    write_answer: Callable[[list[Written]], Json],
) -> Response:
    """Read an order of one file and answer with what is written of its pages.

    Raises:
        OcrError: a page could not be read; dialects have no place for the others then.
    """

    def write_file(files: list[list[Written]]) -> Json:
        [pages] = files
        return write_answer(pages)

    return await answer_files(request, services, order, write_page, write_file)


async def answer_files(
    request: Request,
    services: Services,
    order: Order,
    write_page: Callable[[Page, int], Written],
    write_answer: Callable[[list[list[Written]]], Json],
) -> Response:
    """Read an order and answer with what is written of the pages of each of its files.

    Raises:
        OcrError: a page could not be read; dialects have no place for the others then.
    """
    record = record_of(request.scope)

    async def written() -> Response:
        async with (
            opened_and_settled(request, order, services) as delivery,
            aclosing(results_of(request, delivery)) as results,
        ):
            pages = iter(await write_each(results, write_page, order, record, services))
        by_file = [list(islice(pages, len(file.numbers))) for file in delivery.files]
        content = to_json(write_answer(by_file))
        return Response(content, headers=headers_of(delivery, record), media_type="application/json")

    return await while_connected(written(), request.receive)


def given_or(given: Value | None, default: Value) -> Value:
    """What a client has chosen, or else the default."""
    return default if given is None else given


def order_of_file(data: bytes, options: PageOptions, deadline: Deadline, services: Services) -> Order:
    """All pages of one file."""
    return order_of_files((data,), options, deadline, services)


def order_of_files(files: Sequence[bytes], options: PageOptions, deadline: Deadline, services: Services) -> Order:
    """All pages of several files."""
    return Order(files, ALL_PAGES, options, services.limits.max_pages, deadline)


def whole_corners(quad: Quad) -> list[list[int]]:
    """The corners of a quad in whole pixels."""
    corners: list[list[int]] = np.rint(quad).astype(int).tolist()
    return corners
