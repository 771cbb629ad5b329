"""What this service can do, for programs that adapt to it: formats, limits, options and models, as they are now."""

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from gateway import __version__
from gateway.formats.table import FORMATS
from gateway.ocr.decoding.formats import FileType
from gateway.ocr.scripts import count_letters
from gateway.web.negotiation import JSON, STREAM
from gateway.web.openapi import problem_responses, success_headers
from gateway.web.options import OptionsModel
from gateway.web.schemas import ModelsOut, json_response, models_out
from gateway.web.services import RequestLimits, Services


class FormatOut(BaseModel):
    """A form of the answer."""

    name: str = Field(description="For the option format.", examples=["text"])
    media_type: str = Field(description="For the header Accept.", examples=["text/plain; charset=utf-8"])
    description: str = Field(description="In words.", examples=["The text alone, a line each."])
    single: bool = Field(description="Whether it holds one page and no more.", examples=[False])


class LimitsOut(BaseModel):
    """What one request may have."""

    max_body_bytes: int = Field(description="Of the body, as it is sent.", examples=[20_000_000])
    max_files: int = Field(description="In one body.", examples=[16])
    max_pages: int = Field(description="Of all its files together.", examples=[500])
    timeout_s: float = Field(description="Seconds that it may take if it does not ask for a time.", examples=[30.0])
    max_timeout_s: float = Field(description="The longest time that it may ask for.", examples=[120.0])


class ModelSetOut(BaseModel):
    """A model set that the option model_set may name."""

    name: str = Field(description="For the option model_set.", examples=["ppocrv6-small"])
    scripts: dict[str, int] = Field(
        description="How many letters of each script it can write, by ISO 15924 code.",
        examples=[{"Hani": 15000, "Latn": 300}],
    )
    alternatives: int = Field(
        description="The most that the option alternatives may ask for; 0 if the models give none.", examples=[0]
    )


class CapabilitiesOut(ModelsOut):
    """What this service can do."""

    version: str = Field(description="Of the service.", examples=["0.1.0"])
    model_sets: list[ModelSetOut] = Field(description="Those that are served; the first one is the default.")
    inputs: list[str] = Field(description="Types of files that are read.", examples=[["JPEG", "PDF"]])
    formats: list[FormatOut] = Field(description="Forms of the answer; the first is the default.")
    limits: LimitsOut
    options: dict[str, dict[str, Any]] = Field(
        description="JSON schema of each option, with its default and its description.",
        examples=[{"reread": {"type": "boolean", "default": True, "description": "Read doubtful lines twice."}}],
    )


def add_capabilities_route(router: APIRouter, services: Services, model: OptionsModel) -> None:
    """Add GET /v1/capabilities."""
    options = option_schemas(model)

    @router.get(
        "/v1/capabilities",
        summary="What this service can do",
        response_model=CapabilitiesOut,
        responses={**success_headers(), **problem_responses("internal", "backend_unavailable")},
        tags=["ocr"],
    )
    async def describe_capabilities() -> Response:
        """Formats, limits and options, and the models that are served now."""
        models = services.models()
        served = models_out(models)
        scripts = await services.pool.run(count_letters, models.charset)
        return json_response(
            CapabilitiesOut(
                model_set=served.model_set,
                models=served.models,
                version=__version__,
                model_sets=[ModelSetOut(name=models.model_set, scripts=scripts, alternatives=models.alternatives)],
                inputs=sorted(FileType),
                formats=formats_out(),
                limits=limits_out(services.limits),
                options=options,
            )
        )


def formats_out() -> list[FormatOut]:
    """Every form of the answer, JSON first."""
    own = (
        FormatOut(name=name, media_type=one.media_type, description=one.description, single=one.single)
        for name, one in FORMATS.items()
    )
    everything = FormatOut(name="json", media_type=JSON, description="Everything that is known.", single=False)
    stream = FormatOut(
        name="ndjson",
        media_type=STREAM,
        description="A line of JSON for each page, as soon as it is read.",
        single=False,
    )
    return [everything, stream, *own]


def limits_out(limits: RequestLimits) -> LimitsOut:
    """The limits that concern a caller."""
    return LimitsOut(
        max_body_bytes=limits.max_body_bytes,
        max_files=limits.max_files,
        max_pages=limits.max_pages,
        timeout_s=limits.timeout_s,
        max_timeout_s=limits.max_timeout_s,
    )


def option_schemas(model: OptionsModel) -> dict[str, dict[str, Any]]:
    """The schema of each option, without the titles that pydantic makes up."""
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return {
        name: {key: value for key, value in schema.items() if key != "title"} for name, schema in properties.items()
    }
