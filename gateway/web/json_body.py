"""A JSON body: an image in base64 and options, parsed strictly, and nothing built that a hostile body might ask for."""

import json
import re
from binascii import a2b_base64
from typing import NoReturn

from gateway.errors import InvalidRequest
from gateway.web.body import Body
from gateway.web.options import OptionSource

_MAX_MEMBERS = 64
"""More than there are options, and few enough to be harmless."""

_EXAMPLE = '{"image": "<base64>", "min_score": 0.5}'
_NO_FLAT_OBJECT = f"the JSON body must be one object without lists or objects in it, as in {_EXAMPLE}"
_DATA_URI = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")


def parse_json(body: bytes) -> Body:
    """Take a JSON body apart. The caller should keep no reference to it: at most two copies exist at a time.

    Raises:
        InvalidRequest: not UTF-8, not JSON (NaN is not), not one flat object, no image or two, or an image that is not
            base64.
    """
    _check_shape(body)
    text = _decoded(body)
    del body
    members = _members(text)
    del text
    images = [value for name, value in members if name == "image"]
    if len(images) != 1:
        raise InvalidRequest(f"the JSON body must have one member named image, not {len(images)}, as in {_EXAMPLE}")
    options = tuple((name, value) for name, value in members if name != "image")
    return Body(_image_data(images[0]), OptionSource("JSON body", options, typed=True))


def _check_shape(body: bytes) -> None:
    # Before anything is built: 20 MB of "[],[],..." would become 400 MB of lists. Neither base64 nor an option has a
    # bracket, so counting bytes is enough.
    if body.count(b"{") != 1 or b"[" in body or body.count(b",") > _MAX_MEMBERS:
        raise InvalidRequest(_NO_FLAT_OBJECT)


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the JSON body is not UTF-8: see byte {error.start}") from error


def _members(text: str) -> list[tuple[str, object]]:
    try:
        members: object = json.loads(text, object_pairs_hook=list, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}") from error
    except ValueError as error:
        raise InvalidRequest("the body is not valid JSON: a number has too many digits") from error
    if not isinstance(members, list):  # a text with a brace in it
        raise InvalidRequest(_NO_FLAT_OBJECT)
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body is not valid JSON: it has no {name}; give a number")


def _image_data(image: object) -> bytes:
    if not isinstance(image, str):
        raise InvalidRequest(f"image must be a text, base64 or a data: URI, as in {_EXAMPLE}")
    if image[:5].lower() == "data:":
        image = _without_uri_header(image)
    try:
        data = a2b_base64(image, strict_mode=True)
    except ValueError as error:
        raise InvalidRequest(f"image is not base64: {_fault(image, error)}") from error
    if not data:
        raise InvalidRequest("image is empty; send the file's bytes in base64")
    return data


def _without_uri_header(uri: str) -> str:
    header = _DATA_URI.match(uri)
    if not header:
        raise InvalidRequest("a data: URI must be in base64, as in data:image/png;base64,iVBORw0...")
    return uri[header.end() :]


def _fault(text: str, error: ValueError) -> str:
    stray = _NOT_BASE64.search(text)
    if stray is None:
        return str(error).lower()
    return (
        f"character {stray.start()} is {stray.group()!r}; use the standard alphabet (A-Z a-z 0-9 + / =), no line breaks"
    )
