"""Which dialect is spoken where. PaddleX and RapidOCR share an address, and are told apart by the type of the body."""

from starlette.datastructures import Headers
from starlette.types import Scope

from gateway.web.dialects.dialect import Dialect
from gateway.web.dialects.paddlex import PADDLEX
from gateway.web.dialects.rapidocr import RAPIDOCR

PATH = "/ocr"


def dialect_at(scope: Scope) -> Dialect | None:
    """The dialect of a request; None if it is in our own words."""
    if scope["path"] != PATH:
        return None
    is_form = Headers(scope=scope).get("content-type", "").lower().startswith("multipart/")
    return RAPIDOCR if is_form else PADDLEX
