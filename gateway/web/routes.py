"""The routes of the API. Bodies and options are read by hand (`payload`), so that every fault in them is a problem."""

from asgi_correlation_id import correlation_id
from fastapi import APIRouter, Request, Response

from gateway.metrics import count_page
from gateway.ocr.elements import Page
from gateway.web.disconnect import while_connected
from gateway.web.health import add_health_routes
from gateway.web.openapi import ocr_operation, problem_responses, success_headers
from gateway.web.options import OptionsModel, options_for
from gateway.web.payload import Payload, read_payload
from gateway.web.permits import permit_of
from gateway.web.problems import PROBLEMS
from gateway.web.record import record_of
from gateway.web.schemas import ModelsOut, OcrOut, json_response, models_out, ocr_out
from gateway.web.services import Services

WORK = frozenset({"/v1/ocr"})
"""Where images are read: what admission guards."""

_OCR_CODES = tuple(code for code in PROBLEMS if code not in ("not_found", "method_not_allowed"))


def create_router(services: Services) -> APIRouter:
    """Every route that needs the services."""
    router = APIRouter()
    _add_ocr_route(router, services)
    _add_models_route(router, services)
    add_health_routes(router, services)
    return router


def _add_ocr_route(router: APIRouter, services: Services) -> None:
    options = options_for(services.limits)

    @router.post(
        "/v1/ocr",
        summary="Read an image",
        response_model=OcrOut,
        response_description="The text of the image; an image without text has no lines.",
        responses={**success_headers(timing=True), **problem_responses(*_OCR_CODES)},
        openapi_extra=ocr_operation(options),
        tags=["ocr"],
    )
    async def read_image(request: Request) -> Response:
        """Find and read the lines of text in one image."""
        return await _read(request, options, services)


async def _read(request: Request, model: OptionsModel, services: Services) -> Response:
    record = record_of(request.scope)
    payload = await read_payload(request, model, services.limits)
    page = await while_connected(_read_page(request, payload, services), request.receive)
    record.lines = len(page.lines)
    record.warnings = tuple(warning.code for warning in page.warnings)
    count_page(record.lines, record.warnings)
    answer = ocr_out(page, services.models(), request_id=correlation_id.get() or "")
    return json_response(answer, {"Server-Timing": record.times.server_timing()})


async def _read_page(request: Request, payload: Payload, services: Services) -> Page:
    """Read the image, once there is room for its pixels."""
    times = record_of(request.scope).times
    if permit := permit_of(request.scope):
        pixels = await services.pipeline.count_pixels(payload.data, deadline=payload.deadline, times=times)
        with times.stage("admission"):
            await permit.settle(pixels)
    options = payload.options.page_options()
    return await services.pipeline.read(payload.data, options, deadline=payload.deadline, times=times)


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
