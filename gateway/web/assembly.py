"""Everything of the web layer that does not need the services; `routes.create_router` makes the rest."""

from fastapi import FastAPI
from starlette.types import Lifespan

from gateway.tracing import Tracer
from gateway.web.admission import Admission
from gateway.web.docs import add_docs
from gateway.web.middleware import add_middleware
from gateway.web.openapi import describe
from gateway.web.problems import add_problem_handlers

_DESCRIPTION = """Send an image, get its text.

Every answer but a 200 is a problem document (RFC 9457); its `code` is for programs, its `detail` says what to do."""


def create_web(
    *,
    version: str,
    lifespan: Lifespan[FastAPI] | None = None,
    admission: Admission | None = None,
    ops_port: int = 0,
    tracer: Tracer | None = None,
) -> FastAPI:
    """An app that can refuse, fail, log and describe itself; include the router of the API in it."""
    app = FastAPI(
        title="OCR gateway",
        version=version,
        description=_DESCRIPTION,
        openapi_tags=[{"name": "ocr"}, {"name": "health"}, {"name": "problems"}],
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    add_problem_handlers(app)
    add_middleware(app, admission, ops_port, tracer)
    add_docs(app)
    describe(app)
    return app
