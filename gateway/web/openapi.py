"""The parts of the OpenAPI document that FastAPI can't derive: three kinds of body, options anywhere, and problems."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import Field, TypeAdapter, create_model

from gateway.formats.table import FORMATS
from gateway.web.negotiation import STREAM
from gateway.web.options import OptionsModel
from gateway.web.problems import MEDIA_TYPE, PROBLEMS, Problem, is_retryable, type_of
from gateway.web.schemas import StreamLine
from gateway.web.tickets import Priority

Schema = dict[str, Any]
"""A piece of the document; as free as JSON."""

_PROBLEM_REF = {"$ref": "#/components/schemas/Problem"}
_BINARY = {"type": "string", "format": "binary"}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait before trying again.", "schema": {"type": "integer"}}}
_REQUEST_ID = {
    "X-Request-Id": {
        "description": "The request's id: the one it came with, if that was sane, or a new one.",
        "schema": {"type": "string"},
    }
}
_SERVER_TIMING = {
    "Server-Timing": {
        "description": "Milliseconds spent in each stage, such as `decode;dur=8.1, detect;dur=21.4`.",
        "schema": {"type": "string"},
    }
}
_PRIORITY = {
    "name": "X-Priority",
    "in": "header",
    "required": False,
    "description": "Batch requests give way to interactive ones.",
    "schema": {"type": "string", "enum": [*Priority], "default": Priority.INTERACTIVE},
}
_KEY = {"type": "http", "scheme": "bearer", "description": "An API key, where the service has clients."}
_TINY_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="
"""One white pixel."""


def problem_responses(*codes: str) -> dict[int | str, Schema]:
    """The `responses` of an operation that may fail in these ways, by status."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    return {status: _problems_of_status(status, codes) for status, codes in sorted(by_status.items())}


def success_headers(*, timing: bool = False) -> dict[int | str, Schema]:
    """The headers of an operation's 200."""
    return {200: {"headers": {**_REQUEST_ID, **(_SERVER_TIMING if timing else {})}}}


def ocr_success() -> dict[int | str, Schema]:
    """The 200 of POST /v1/ocr, besides the JSON that FastAPI derives."""
    reference = {"$ref": "#/components/schemas/StreamLine"}
    return {
        200: {
            **success_headers(timing=True)[200],
            "content": {
                STREAM: {"schema": reference, "description": "A line for each page, as soon as it is read."},
                **{one.media_type: {"schema": _BINARY, "description": one.description} for one in FORMATS.values()},
            },
        }
    }


def ocr_operation(options: OptionsModel, *, max_files: int) -> Schema:
    """Parameters and body of POST /v1/ocr."""
    properties = options.model_json_schema()["properties"]
    return {
        "parameters": [*(_query_parameter(name, schema) for name, schema in properties.items()), _PRIORITY],
        "security": [{}, {"key": []}],
        "requestBody": {"required": True, "description": _BODY, "content": _body_kinds(options, properties, max_files)},
    }


def describe(app: FastAPI) -> None:
    """Add what several operations share to the document that `app.openapi()` gives."""
    derive = app.openapi

    def openapi() -> Schema:
        document = derive()
        components = document.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        components["schemas"] |= _stream_schemas()
        components["securitySchemes"] = {"key": _KEY}
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document


def _stream_schemas() -> Schema:
    """The lines of a stream, by name."""
    schema = TypeAdapter(StreamLine).json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), "StreamLine": schema}


_BODY = """One image or several, in one of three ways:

* the file itself, with any other content type than the two below; what it is shows in its first bytes;
* `multipart/form-data` with the files in parts named `file` and options as further parts;
* JSON with the file in `image` (base64, or a base64 `data:` URI), or several in `images`; options as further members.

Each option may come in the query, the form or the JSON object, but only once."""


def _problems_of_status(status: int, codes: list[str]) -> Schema:
    return {
        "description": " · ".join(f"`{code}`: {PROBLEMS[code].title}." for code in codes),
        "headers": {**_REQUEST_ID, **(_RETRY_AFTER if status in (429, 503) else {})},
        "content": {
            MEDIA_TYPE: {"schema": _PROBLEM_REF, "examples": {code: {"value": _example(code)} for code in codes}}
        },
    }


def _example(code: str) -> Schema:
    kind = PROBLEMS[code]
    problem = Problem(
        type=type_of(code),
        title=kind.title,
        status=kind.status,
        detail=kind.advice,
        instance="/v1/ocr",
        code=code,
        request_id="0f4f9e1c4d7f4b6c9a51f5b0a8f3a2de",
        retryable=is_retryable(code),
        retry_after_ms=1500 if kind.status in (429, 503) else None,
    )
    return problem.model_dump(exclude_none=True)


def _query_parameter(name: str, schema: Mapping[str, Any]) -> Schema:
    bare = {key: value for key, value in schema.items() if key not in ("title", "description")}
    return {"name": name, "in": "query", "required": False, "description": schema["description"], "schema": bare}


def _body_kinds(options: OptionsModel, properties: Schema, max_files: int) -> Schema:
    files = {"type": "array", "items": _BINARY, "minItems": 1, "maxItems": max_files}
    as_form = {
        "type": "object",
        "required": ["file"],
        "additionalProperties": False,
        "properties": {"file": {**files, "description": "The files, each a part of this name."}, **properties},
    }
    return {
        "application/octet-stream": {"schema": _BINARY},
        "image/*": {"schema": _BINARY},
        "multipart/form-data": {"schema": as_form},
        "application/json": {"schema": _json_schema(options, max_files), "examples": _json_examples()},
    }


def _json_schema(options: OptionsModel, max_files: int) -> Schema:
    """An object with one image or several, and options."""
    image = Field(description="The file in base64, or a data: URI in base64.", examples=[_TINY_PNG])
    images = Field(description="Several of them, instead of image.", min_length=1, max_length=max_files)
    as_json = create_model(
        "OcrIn", __base__=options, __doc__="Images and options.", image=(str, image), images=(list[str], images)
    )
    schema = as_json.model_json_schema()
    del schema["required"]
    return {**schema, "oneOf": [{"required": ["image"]}, {"required": ["images"]}]}


def _json_examples() -> Schema:
    return {
        "base64": {"value": {"image": _TINY_PNG}},
        "several": {"value": {"images": [_TINY_PNG, _TINY_PNG]}},
        "data: URI and options": {
            "value": {"image": f"data:image/png;base64,{_TINY_PNG}", "min_score": 0.7, "reread": False}
        },
    }
