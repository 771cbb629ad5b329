"""Problem documents (RFC 9457): the one table from code to status, and the handlers that turn errors into them."""

import logging
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import quote

from asgi_correlation_id import correlation_id
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway import metrics
from gateway.errors import OcrError, RateLimited
from gateway.web.disconnect import CLIENT_CLOSED, ClientClosed
from gateway.web.record import record_of

MEDIA_TYPE = "application/problem+json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """What a code means over HTTP.

    Attributes:
        status: of the answer.
        title: the same for every problem of this kind.
        advice: what a caller should do.
        headers: that answers of this kind always have.
    """

    status: int
    title: str
    advice: str
    headers: Mapping[str, str] = field(default_factory=dict)


PROBLEMS: Mapping[str, ProblemKind] = {
    "invalid_request": ProblemKind(400, "The request can't be understood", "Mend what the detail names."),
    "unauthenticated": ProblemKind(
        401, "Who are you?", "Send a valid API key.", {"WWW-Authenticate": 'Bearer realm="ocr"'}
    ),
    "forbidden": ProblemKind(403, "Not allowed for this client", "Leave out what the detail names."),
    "not_found": ProblemKind(404, "There is nothing here", "Look up the address in /docs."),
    "method_not_allowed": ProblemKind(405, "The method is not allowed here", "Use a method that Allow lists."),
    "body_timeout": ProblemKind(408, "The body arrived too slowly", "Send less, or ask for a longer timeout."),
    "header_timeout": ProblemKind(408, "The header arrived too slowly", "Send it at once."),
    "body_too_large": ProblemKind(413, "The body is too large", "Send fewer bytes: crop, scale or compress the image."),
    "unsupported_image": ProblemKind(415, "Not a type of image that is served", "Convert it; PNG and JPEG are served."),
    "unreadable_image": ProblemKind(422, "The image can't be decoded", "Check that the file is whole."),
    "image_too_large": ProblemKind(422, "The image has too many pixels", "Scale it down or cut it up."),
    "decoder_failed": ProblemKind(422, "The decoder failed over the image", "Save it anew with another program."),
    "too_many_pages": ProblemKind(422, "Too many pages for one request", "Ask for some at a time, with pages=."),
    "rate_limited": ProblemKind(429, "The quota is used up", "Wait for Retry-After; then send less often."),
    "header_too_large": ProblemKind(431, "The header is too large", "Send fewer or shorter header fields."),
    "internal": ProblemKind(500, "A bug of the service", "Report it with the request id."),
    "inference_failed": ProblemKind(502, "The model failed", "Try once more; then report it with the request id."),
    "unexpected_output": ProblemKind(502, "The model's answer makes no sense", "Report it with the request id."),
    "overloaded": ProblemKind(503, "Too much to do", "Wait for Retry-After, then double the wait each time."),
    "inference_timeout": ProblemKind(503, "The model did not answer in time", "Wait for Retry-After and try again."),
    "backend_unavailable": ProblemKind(503, "The models are not ready", "Wait for Retry-After and try again."),
    "out_of_memory": ProblemKind(
        503, "The model ran out of memory", "Wait for Retry-After; partial=true gives what fits."
    ),
    "draining": ProblemKind(503, "The service is shutting down", "Try another instance at once."),
    "deadline_exceeded": ProblemKind(504, "The request's own timeout ran out", "Ask for a longer timeout."),
}
"""Every code that is sent; part of the API."""


class Problem(BaseModel):
    """Why a request failed, for programs (`code`) and people (`detail`)."""

    type: str = Field(description="Address of the description of this kind of problem, relative to the service.")
    title: str = Field(description="The kind of problem in words; the same for every problem with this code.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened this time, and what to do.")
    instance: str = Field(description="Path of the request.")
    code: str = Field(description="The kind of problem, for programs.", json_schema_extra={"enum": [*PROBLEMS]})
    request_id: str = Field(description="As in the X-Request-Id header and in the service's log.")
    retryable: bool = Field(description="Whether the same request may succeed a little later.")
    stage: str | None = Field(default=None, description="The stage where it happened, if it happened in one.")
    retry_after_ms: int | None = Field(
        default=None, description="With 429 and 503: how long to wait before trying again."
    )


def type_of(code: str) -> str:
    """The problem's `type`: a full path that the service answers (RFC 9457, 3.1.1 asks for full ones)."""
    return f"/problems/{code}"


@cache
def is_retryable(code: str) -> bool:
    """Whether the same request may succeed a little later, as the error with this code says."""
    return _is_retryable(code, OcrError)


def _is_retryable(code: str, base: type[OcrError]) -> bool:
    return (base.code == code and base.retryable) or any(_is_retryable(code, cls) for cls in base.__subclasses__())


def problem_response(
    request: Request,
    code: str,
    detail: str,
    *,
    stage: str | None = None,
    headers: Mapping[str, str] | None = None,
    wait_ms: int | None = None,
) -> Response:
    """A problem document, counted and noted in the request's record."""
    record_of(request.scope).code = code
    path = quote(request.scope["path"], errors="replace")
    problem = make_problem(code, detail, path, correlation_id.get() or "", stage=stage, wait_ms=wait_ms)
    fields = {**(headers or {}), **fields_of(problem)}
    return Response(to_json(problem, exclude_none=True), problem.status, headers=fields, media_type=MEDIA_TYPE)


def problem_of(request: Request, error: OcrError) -> Response:
    """The problem document of an error that requests may cause."""
    wait_ms = math.ceil(1000 * error.retry_after_s) if isinstance(error, RateLimited) else None
    return problem_response(request, error.code, error.detail, stage=error.stage, wait_ms=wait_ms)


def make_problem(
    code: str, detail: str, instance: str, request_id: str, *, stage: str | None = None, wait_ms: int | None = None
) -> Problem:
    """A problem, counted; whoever is overloaded asks for about a second of patience."""
    metrics.ERRORS.labels(code).inc()
    kind = PROBLEMS[code]
    return Problem(
        type=type_of(code),
        title=kind.title,
        status=kind.status,
        detail=detail,
        instance=instance,
        code=code,
        request_id=request_id,
        retryable=is_retryable(code),
        stage=stage,
        retry_after_ms=_wait_ms() if kind.status == 503 else wait_ms,
    )


def fields_of(problem: Problem) -> dict[str, str]:
    """Header fields that go with a problem."""
    fields = dict(PROBLEMS[problem.code].headers)
    if problem.retry_after_ms is not None:
        fields["Retry-After"] = str(math.ceil(problem.retry_after_ms / 1000))
    return fields


def internal_problem(request: Request) -> Response:
    """The answer to a bug: nothing of its inside gets out."""
    return problem_response(request, "internal", "the service failed in a way that it should not; it has been logged")


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error that a route raises with a problem document, except bugs: see `gateway.web.middleware`."""
    app.add_exception_handler(OcrError, _on_ocr_error)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(ClientClosed, _on_client_closed)


async def _on_ocr_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, OcrError)
    kind = PROBLEMS.get(error.code)
    if kind is None or error.code == "internal":
        # An error that requests can't cause, such as ContractError.
        logger.error("unexpected %s: %s", type(error).__name__, error.detail, exc_info=error)
        return internal_problem(request)
    if kind.status >= 500:
        logger.warning("%s in %s: %s (%r)", error.code, error.stage, error.detail, error.__cause__)
    return problem_of(request, error)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return problem_response(request, "not_found", "there is nothing at this address; /docs lists all that there is")
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        detail = f"this address does not take {request.method}; it takes {allowed}"
        return problem_response(request, "method_not_allowed", detail, headers=error.headers)
    if error.status_code < 500:
        return problem_response(request, "invalid_request", error.detail)
    logger.error("unexpected %r", error, exc_info=error)
    return internal_problem(request)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
    return problem_response(request, "invalid_request", "; ".join(faults))


async def _on_client_closed(request: Request, _: Exception) -> Response:
    record_of(request.scope).code = "client_closed"
    return Response(status_code=CLIENT_CLOSED)  # nobody reads it


def _wait_ms() -> int:
    # A second, and up to another one at random, so that clients that were refused together don't return together.
    return random.randrange(1000, 2000)  # noqa: S311 - no secret, and refusals must be cheap
