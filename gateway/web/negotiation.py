"""Which form the answer has: the option `format`, or else the header Accept (RFC 9110, 12.5.1)."""

from collections.abc import Mapping

from starlette.datastructures import Headers

from gateway.formats.table import FORMATS, FormatName
from gateway.web.options import RequestOptions

JSON, STREAM, ANY = "application/json", "application/x-ndjson", "*/*"

MEDIA_TYPES: Mapping[str, FormatName] = {
    JSON: "json",
    STREAM: "ndjson",
    ANY: "json",
    **{one.media_type.partition(";")[0]: name for name, one in FORMATS.items()},
}
"""Names of formats by what Accept may say."""


def in_accepted_format(options: RequestOptions, headers: Headers) -> RequestOptions:
    """The options with the format that the answer will have.

    Raises:
        InvalidRequest: it does not go with another option.
    """
    if "format" in options.model_fields_set:
        return options
    return options.answered_as(accepted_format(headers.get("accept", "")))


def accepted_format(accept: str) -> FormatName:
    """The format that a client prefers; JSON if it names none that is known, since many clients name anything."""
    preferences = [_preference(one) for one in accept.split(",")]
    known = [(media_type, quality) for media_type, quality in preferences if media_type in MEDIA_TYPES and quality > 0]
    best, _ = max(known, key=lambda one: (one[1], one[0] != ANY), default=(ANY, 1.0))
    return MEDIA_TYPES[best]


def _preference(wanted: str) -> tuple[str, float]:
    """A media type, and how much it is wanted, 0 to 1."""
    media_type, *parameters = (part.strip().lower() for part in wanted.split(";"))
    quality = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
    try:
        return media_type, float(quality)
    except ValueError:
        return media_type, 0.0
