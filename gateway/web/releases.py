"""Which models read a request: those that serve, or a candidate, by the request's header or by its share."""

from dataclasses import replace
from zlib import crc32

from asgi_correlation_id import correlation_id
from starlette.requests import Request

from gateway.errors import InvalidRequest
from gateway.web.record import record_of
from gateway.web.services import Offer, Services

HEADER = "X-Ocr-Release"
"""Of a request: who is to read it. Of an answer, while there is a candidate: who has."""
SERVING, CANDIDATE = "serving", "candidate"


def read_by(request: Request, services: Services, *, model_set: str = "", alternatives: int = 0) -> Services:
    """The services with the models that are to read this request, which is noted.

    Args:
        request: itself.
        services: with the models that serve.
        model_set: that it wants, if any.
        alternatives: that it wants. A candidate that lacks what is wanted reads it only if it is asked for.

    Raises:
        InvalidRequest: it asks for a release that is none, or for a candidate while there is none.
    """
    asked, offer, record = request.headers.get(HEADER), services.candidate(), record_of(request.scope)
    if asked not in (None, SERVING, CANDIDATE):
        raise InvalidRequest(f"{HEADER} is {asked!r}; it can be {SERVING} or {CANDIDATE}")
    if asked == CANDIDATE and offer is None:
        raise InvalidRequest(f"{HEADER} asks for the candidate, and there is none at the moment")
    record.release = SERVING
    if offer is None:
        return services
    if asked == CANDIDATE:
        record.release = CANDIDATE
        services = replace(services, pipeline=offer.pipeline, models=offer.models)
    elif asked is None and _suits(offer, model_set, alternatives) and is_in(correlation_id.get() or "", offer.share):
        record.release = CANDIDATE
        services = replace(services, pipeline=offer.falling_back, models=offer.models)
    record.fields[HEADER] = record.release
    return services


def is_in(request_id: str, share: float) -> bool:
    """Whether a request belongs to so many per cent of all; the same request always does, or never, on any gateway."""
    return crc32(request_id.encode()) % 10_000 < 100 * share


def _suits(offer: Offer, model_set: str, alternatives: int) -> bool:
    models = offer.models()
    return model_set in ("", models.model_set) and alternatives <= models.alternatives
