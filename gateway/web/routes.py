"""The routes of the API. Bodies and options are read by hand (`payload`), so that every fault in them is a problem."""

from contextlib import aclosing
from dataclasses import replace
from functools import partial

from asgi_correlation_id import correlation_id
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from gateway.documents import Order
from gateway.errors import OcrError
from gateway.formats.table import FORMATS
from gateway.web.capabilities import add_capabilities_route
from gateway.web.dialects import table as dialects
from gateway.web.dialects.dialect import Json
from gateway.web.disconnect import while_connected
from gateway.web.health import add_health_routes
from gateway.web.negotiation import in_accepted_format
from gateway.web.openapi import ocr_operation, ocr_success, problem_responses, success_headers
from gateway.web.options import OptionsModel, options_for
from gateway.web.orders import built, note, opened_and_settled, order_of, results_of
from gateway.web.payload import read_payload
from gateway.web.problems import PROBLEMS
from gateway.web.record import record_of
from gateway.web.releases import read_by
from gateway.web.schemas import ModelsOut, OcrOut, json_response, models_out, ocr_out
from gateway.web.services import Services
from gateway.web.streaming import LinesResponse
from gateway.web.writing import write_pages

WORK = frozenset({"/v1/ocr", *dialects.PATHS})
"""Where images are read: what admission guards."""

_OCR_CODES = tuple(code for code in PROBLEMS if code not in ("not_found", "method_not_allowed"))


def create_router(services: Services) -> APIRouter:
    """Every route that needs the services."""
    router = APIRouter()
    options = options_for(services.limits)
    _add_ocr_route(router, services, options)
    _add_models_route(router, services)
    add_capabilities_route(router, services, options)
    add_health_routes(router, services)
    _add_dialects(router, services)
    return router


def _add_ocr_route(router: APIRouter, services: Services, options: OptionsModel) -> None:
    @router.post(
        "/v1/ocr",
        summary="Read images",
        response_model=OcrOut,
        response_description="The text of the images; an image without text has no lines.",
        responses={**ocr_success(), **problem_responses(*_OCR_CODES)},
        openapi_extra=ocr_operation(options, max_files=services.limits.max_files),
        tags=["ocr"],
    )
    async def read_image(request: Request) -> Response:
        """Find and read the lines of text in images and documents."""
        return await _read(request, options, services)


async def _read(request: Request, model: OptionsModel, services: Services) -> Response:
    payload = await read_payload(request, model, services.limits)
    options = in_accepted_format(payload.options, request.headers)
    services = read_by(request, services, model_set=options.model_set, alternatives=options.alternatives)
    order = order_of(replace(payload, options=options), services)
    if options.format == "ndjson":
        return LinesResponse(request, order, services)
    if options.format in FORMATS:
        written = write_pages(request, order, FORMATS[options.format], options.dpi, services)
        return await while_connected(written, request.receive)
    answer = await while_connected(_read_all(request, order, services), request.receive)
    return json_response(answer, {"Server-Timing": record_of(request.scope).times.server_timing()})


async def _read_all(request: Request, order: Order, services: Services) -> OcrOut:
    """Read all pages. What kept the first from being read is the answer's error if none could be."""
    async with (
        opened_and_settled(request, order, services) as delivery,
        aclosing(results_of(request, delivery)) as pages,
    ):
        results = [result async for result in pages]
    errors = [result.outcome for result in results if isinstance(result.outcome, OcrError)]
    if len(errors) == len(results):
        raise errors[0]
    for result in results:
        note(record_of(request.scope), result)
    build = partial(ocr_out, delivery.files, results, services.models(), request_id=correlation_id.get() or "")
    return await built(build, order, order.deadline, services)


def _add_dialects(router: APIRouter, services: Services) -> None:
    async def read_in_dialect(request: Request) -> Response:
        dialect = dialects.dialect_at(request.scope)
        assert dialect is not None, "its address is a dialect's"
        return await dialect.answer(request, read_by(request, services))

    for path in dialects.PATHS:
        router.post(path, include_in_schema=False)(read_in_dialect)
    for path, document in dialects.DOCUMENTS.items():
        _add_document(router, path, document)


def _add_document(router: APIRouter, path: str, document: Json) -> None:
    @router.get(path, include_in_schema=False)
    async def give_document() -> Response:
        return JSONResponse(document)


def _add_models_route(router: APIRouter, services: Services) -> None:
    @router.get(
        "/v1/models",
        summary="What is served",
        response_model=ModelsOut,
        responses={**success_headers(), **problem_responses("internal", "backend_unavailable")},
        tags=["ocr"],
    )
    async def describe_models() -> Response:
        """The model set, and its models as the inference server names them."""
        return json_response(models_out(services.models()))
