"""The API's description for people: /docs works without internet, all of it comes from this process."""

from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from gateway.web.openapi import problem_responses, success_headers
from gateway.web.problems import PROBLEMS, type_of
from gateway.web.schemas import json_response

ASSETS = ("swagger-ui-bundle.js", "swagger-ui.css", "favicon.png")
_STATIC = files("fastapi_offline").joinpath("static")

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)
"""The browser may load nothing from another host; Swagger UI starts from an inline script and styles itself inline."""

# Declared as an argument it would bring FastAPI's 422 into the document, which is never sent.
_CODE_PARAMETER = {"name": "code", "in": "path", "required": True, "schema": {"type": "string", "enum": [*PROBLEMS]}}


class ProblemKindOut(BaseModel):
    """One kind of problem."""

    type: str = Field(description="Address of this description.", examples=["/problems/overloaded"])
    code: str = Field(description="For programs.", examples=["overloaded"])
    status: int = Field(description="The HTTP status it comes with.", examples=[503])
    title: str = Field(description="In words.", examples=["Too much to do"])
    advice: str = Field(description="What a caller should do.")


def add_docs(app: FastAPI) -> None:
    """Add /openapi.json, /docs with its assets, and the descriptions that the `type` of problems points to."""
    router = APIRouter()
    router.add_api_route("/openapi.json", _openapi, include_in_schema=False)
    router.add_api_route("/docs", _docs, include_in_schema=False)
    router.add_api_route("/docs/{asset}", _asset, include_in_schema=False)
    router.add_api_route(
        "/problems/{code}",
        _problem_kind,
        summary="What a problem's type means",
        response_model=ProblemKindOut,
        responses={**success_headers(), **problem_responses("not_found", "internal")},
        openapi_extra={"parameters": [_CODE_PARAMETER]},
        tags=["problems"],
    )
    app.include_router(router)


async def _openapi(request: Request) -> Response:
    return JSONResponse(request.app.openapi())


async def _docs(request: Request) -> Response:
    # Addresses are relative to /docs, so that they hold behind a proxy that adds a prefix.
    page = get_swagger_ui_html(
        title=request.app.title,
        openapi_url="openapi.json",
        swagger_js_url="docs/swagger-ui-bundle.js",
        swagger_css_url="docs/swagger-ui.css",
        swagger_favicon_url="docs/favicon.png",
        swagger_ui_parameters={"validatorUrl": None},
    )
    page.headers["Content-Security-Policy"] = _POLICY
    return page


async def _asset(asset: str) -> Response:
    if asset not in ASSETS:
        raise HTTPException(404)
    return FileResponse(str(_STATIC.joinpath(asset)), headers={"Cache-Control": "max-age=86400"})


async def _problem_kind(request: Request) -> Response:
    """Describes a kind of problem; a problem document's `type` is this address."""
    code = request.path_params["code"]
    kind = PROBLEMS.get(code)
    if kind is None:
        raise HTTPException(404)
    answer = ProblemKindOut(type=type_of(code), code=code, status=kind.status, title=kind.title, advice=kind.advice)
    return json_response(answer)
