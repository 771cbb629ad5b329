"""Which dialect is spoken where. They share an address: JSON is PaddleX's, and forms are told apart by their files."""

from starlette.datastructures import Headers
from starlette.types import Scope

from gateway.web.dialects.dialect import Dialect
from gateway.web.dialects.forms import FORMS
from gateway.web.dialects.paddlex import PADDLEX

PATH = "/ocr"


def dialect_at(scope: Scope) -> Dialect | None:
    """The dialect of a request; None if it is in our own words."""
    if scope["path"] != PATH:
        return None
    is_form = Headers(scope=scope).get("content-type", "").lower().startswith("multipart/")
    return FORMS if is_form else PADDLEX
