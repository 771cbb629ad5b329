"""Dialects that send forms to the same address: the name of the file's part tells RapidOCR's from LiteParse's.

RapidOCR's clients send base64 as browsers send forms without files, where everything is text in one line.
"""

from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from gateway.deadline import Deadline
from gateway.errors import InvalidRequest
from gateway.web.body import read_all
from gateway.web.dialects import liteparse, rapidocr
from gateway.web.dialects.dialect import Dialect, Form, Refusal, receive_body
from gateway.web.multipart import FormParser
from gateway.web.problems import Problem
from gateway.web.services import Services

_URL_ENCODED = "application/x-www-form-urlencoded"
_MAX_FIELDS = 32
"""Every option once, and some room."""


async def answer(request: Request, services: Services) -> Response:
    """Read one file."""
    form = await _read_form(request, services)
    speak = liteparse.answer if liteparse.FILE in form.files else rapidocr.answer
    return await speak(request, services, form)


def is_form(content_type: str) -> bool:
    """Whether a body of this type is a form."""
    return content_type.lower().startswith(("multipart/", _URL_ENCODED))


async def _read_form(request: Request, services: Services) -> Form:
    chunks, deadline = receive_body(request, services)
    if request.headers.get("content-type", "").lower().startswith(_URL_ENCODED):
        body = await read_all(chunks)
        return await services.pool.run(_decoded_form, body, deadline, deadline=deadline)
    names = (rapidocr.FILE, rapidocr.BASE64, liteparse.FILE)
    parser = FormParser(request.headers.get("content-type", ""), max_files=2, file_names=names)
    async for chunk in chunks:
        parser.feed(chunk)
    files, fields = parser.finish_named()
    if len(files) > 1 and {name for name, _ in files} != {rapidocr.FILE, rapidocr.BASE64}:
        raise InvalidRequest(f"the form must have one file, {rapidocr.FILE!r} or {liteparse.FILE!r}, not {len(files)}")
    return Form(dict(files), fields.pairs, deadline)


def _decoded_form(body: bytes, deadline: Deadline) -> Form:
    """A form without files: its picture is base64.

    Raises:
        InvalidRequest: it is no such form.
    """
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=_MAX_FIELDS
        )
    except ValueError as error:
        raise InvalidRequest(f"the body is not a form, {_URL_ENCODED}: {error}") from error
    pictures = [value for name, value in fields if name == rapidocr.BASE64]
    if len(pictures) != 1:
        raise InvalidRequest(f"a form without files must have one field {rapidocr.BASE64!r}, not {len(pictures)}")
    options = tuple((name, value) for name, value in fields if name != rapidocr.BASE64)
    return Form({rapidocr.BASE64: pictures[0].encode()}, options, deadline)


def refuse(problem: Problem) -> Refusal:
    """As FastAPI's own errors, and as LiteParse's at once, because it may come before the form is read."""
    return Refusal(problem.status, {"detail": problem.detail, "error": problem.detail})


FORMS = Dialect(answer, refuse)
