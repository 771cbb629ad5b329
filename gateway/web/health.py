"""What an orchestrator and a monitor ask: alive, ready, and how it goes."""

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gateway.errors import BackendUnavailable, Draining
from gateway.web.openapi import problem_responses, success_headers
from gateway.web.schemas import ReadyOut, StatusOut, json_response, ready_out
from gateway.web.services import Services


def add_health_routes(router: APIRouter, services: Services) -> None:
    """Add /livez, /readyz and /metrics."""
    responses = {**success_headers(), **problem_responses("internal")}

    @router.get("/livez", summary="Alive?", response_model=StatusOut, responses=responses, tags=["health"])
    async def livez() -> Response:
        """Says that the process answers; asks nobody else. If it fails, restart the process."""
        return json_response(StatusOut(status="alive"))

    @router.get(
        "/readyz",
        summary="Ready?",
        response_model=ReadyOut,
        responses={**success_headers(), **problem_responses("internal", "backend_unavailable", "draining")},
        tags=["health"],
    )
    async def readyz() -> Response:
        """Says whether requests should be sent here: the known picture was read rightly, and no shutdown has begun."""
        check_ready(services)
        return json_response(ready_out(services.endpoints()))

    @router.get("/metrics", summary="Metrics", response_class=PlainTextResponse, responses=responses, tags=["health"])
    async def metrics() -> Response:
        """Prometheus's text format."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


def check_ready(services: Services) -> None:
    """Return if requests should be sent here.

    Raises:
        Draining: the service is about to stop; this comes first, because it will not pass.
        BackendUnavailable: the canary says why.
    """
    if services.draining():
        raise Draining("the service is shutting down; send requests to another instance")
    if not services.canary.ready:
        raise BackendUnavailable(services.canary.reason)
