"""A JSON body: images in base64 and options, parsed strictly, and nothing built that a hostile body might ask for."""

import json
import re
from binascii import a2b_base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from gateway.errors import InvalidRequest
from gateway.web.body import Body
from gateway.web.options import OptionSource

_MAX_MEMBERS = 64
"""More than there are options, and few enough to be harmless."""

_COMMAS_OF_AN_IMAGE = 2
"""In a list of data: URIs: one in each, and one behind it."""

_IMAGES = frozenset({"image", "images"})
_EXAMPLE = '{"image": "<base64>", "min_score": 0.5}'
_DATA_URI = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_ADDRESS = re.compile("https?:", re.IGNORECASE)
_OBJECT = re.compile(rb"(\xef\xbb\xbf)?[ \t\r\n]*\{")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=]")


@dataclass(frozen=True, slots=True)
class JsonShape:
    """How much a body may have before anything is built of it.

    Attributes:
        objects, lists: the outermost object included.
        commas: outside and inside of texts.
    """

    objects: int = 1
    lists: int = 1
    commas: int = _MAX_MEMBERS + _COMMAS_OF_AN_IMAGE


def parse_json(body: bytes, *, max_files: int) -> Body:
    """Take a JSON body apart. The caller should keep no reference to it: at most two copies exist at a time.

    Raises:
        InvalidRequest: not UTF-8, not JSON (NaN is not), not one flat object, no image or too many, or an image that is
            not base64.
    """
    # Neither base64 nor an option has a bracket, and there is one list at most.
    if not _fits(body, JsonShape(commas=_MAX_MEMBERS + _COMMAS_OF_AN_IMAGE * max_files)):
        raise InvalidRequest(
            f"the JSON body must be one object, without objects in it and with at most {max_files} images, "
            f"as in {_EXAMPLE}"
        )
    text = _decoded(body)
    del body
    members = _members(text)
    del text
    images = _images(members, max_files)
    options = tuple((name, value) for name, value in members if name not in _IMAGES)
    return Body(tuple(image_data(image) for image in images), OptionSource("JSON body", options, typed=True))


def parse_members(body: bytes, shape: JsonShape = JsonShape()) -> list[tuple[str, object]]:
    """The members of an object, in their order and as often as they are given; objects in it are tuples of such pairs.

    For bodies in other words than ours; raises, and asks of its caller, what `parse_json` does.
    """
    if not _fits(body, shape):
        raise InvalidRequest(
            f"the JSON body must be one object, and in all at most {shape.objects} objects, {shape.lists} lists and "
            f"{shape.commas} commas"
        )
    text = _decoded(body)
    del body
    return list(_members(text))


def _fits(body: bytes, shape: JsonShape) -> bool:
    # Before anything is built: 20 MB of "[],[],..." would become 400 MB of lists. Counting bytes is enough.
    return (
        _OBJECT.match(body) is not None
        and body.count(b"{") <= shape.objects
        and body.count(b"[") <= shape.lists
        and body.count(b",") <= shape.commas
    )


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the JSON body is not UTF-8: see byte {error.start}") from error


def _members(text: str) -> tuple[tuple[str, object], ...]:
    try:
        members: object = json.loads(text, object_pairs_hook=tuple, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}") from error
    except ValueError as error:
        raise InvalidRequest("the body is not valid JSON: a number has too many digits") from error
    assert isinstance(members, tuple)  # it begins with a brace
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidRequest(f"the body is not valid JSON: it has no {name}; give a number")


def _images(members: Sequence[tuple[str, object]], max_files: int) -> list[object]:
    """The value of the member image, or those in the member images."""
    given = [(name, value) for name, value in members if name in _IMAGES]
    if len(given) != 1:
        raise InvalidRequest(
            f"the JSON body must have one member named image (or images, a list), not {len(given)}, as in {_EXAMPLE}"
        )
    name, value = given[0]
    if name == "image":
        return [value]
    if not isinstance(value, list) or not 0 < len(value) <= max_files:
        raise InvalidRequest(f'images must be a list of 1 to {max_files} images, as in {{"images": ["<base64>"]}}')
    return value


def image_data(image: object, name: str = "image") -> bytes:
    """The bytes of a file in base64, or in a data: URI, under this name in messages; raises as `parse_json` does."""
    if not isinstance(image, str):
        raise InvalidRequest(f"{name} must be a text, base64 or a data: URI, as in data:image/png;base64,iVBORw0...")
    if _ADDRESS.match(image):
        raise InvalidRequest(f"{name}: addresses are not fetched here; send the file's bytes in base64")
    if image[:5].lower() == "data:":
        image = _without_uri_header(image)
    try:
        data = a2b_base64(image, strict_mode=True)
    except ValueError as error:
        raise InvalidRequest(f"{name} is not base64: {_fault(image, error)}") from error
    if not data:
        raise InvalidRequest(f"{name} is empty; send the file's bytes in base64")
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
