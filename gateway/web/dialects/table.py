"""Which dialect is spoken where. Some share an address: JSON is PaddleX's, and forms are told apart by their files."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import Scope

from gateway.web.dialects import umi
from gateway.web.dialects.dialect import Dialect, Json
from gateway.web.dialects.forms import FORMS, is_form
from gateway.web.dialects.hub_serving import HUB_SERVING
from gateway.web.dialects.nim import NIM
from gateway.web.dialects.paddlex import PADDLEX
from gateway.web.dialects.umi import UMI

SHARED_PATH = "/ocr"

OWN_PATHS: Mapping[str, Dialect] = {"/predict/ocr_system": HUB_SERVING, "/api/ocr": UMI, "/v1/infer": NIM}
"""Dialects that have an address for themselves."""

PATHS = (SHARED_PATH, *OWN_PATHS)

DOCUMENTS: Mapping[str, Json] = {"/api/ocr/get_options": umi.described_options()}
"""What the clients of some dialects look up with GET."""


def dialect_at(scope: Scope) -> Dialect | None:
    """The dialect of a request; None if it is in our own words."""
    path: str = scope["path"]
    if path != SHARED_PATH:
        return OWN_PATHS.get(path)
    return FORMS if is_form(Headers(scope=scope).get("content-type", "")) else PADDLEX
