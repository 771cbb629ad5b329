"""What both clients say and understand."""

from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from gateway import __version__
from gateway.client.errors import NoAnswer

DEFAULT_TIMEOUT_S = 60.0

Answer = TypeVar("Answer", bound=BaseModel)


def headers_of(api_key: str, *, batch: bool) -> dict[str, str]:
    """The header fields of every request."""
    fields = {"User-Agent": f"ocr-gateway-client/{__version__}"}
    if api_key:
        fields["Authorization"] = f"Bearer {api_key}"
    if batch:
        fields["X-Priority"] = "batch"
    return fields


def is_local(url: str) -> bool:
    """Whether a gateway runs on this machine, so that no proxy stands in between."""
    return httpx.URL(url).host in ("localhost", "127.0.0.1", "::1")


def parse(model: type[Answer], response: httpx.Response) -> Answer:
    """The answer, typed.

    Raises:
        NoAnswer: it is not what a gateway says.
    """
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        raise NoAnswer(f"{response.url} does not answer as a gateway of this version: {error}") from error
