"""Dialects that send forms to the same address: the name of the file's part tells RapidOCR's from LiteParse's."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.errors import InvalidRequest
from gateway.web.dialects import liteparse, rapidocr
from gateway.web.dialects.dialect import Dialect, Form, Refusal, receive_body
from gateway.web.multipart import FormParser
from gateway.web.problems import Problem
from gateway.web.services import Services


async def answer(request: Request, services: Services) -> Response:
    """Read one file."""
    form = await _read_form(request, services)
    speak = liteparse.answer if liteparse.FILE in form.files else rapidocr.answer
    return await speak(request, services, form)


async def _read_form(request: Request, services: Services) -> Form:
    chunks, deadline = receive_body(request, services)
    names = (rapidocr.FILE, rapidocr.BASE64, liteparse.FILE)
    parser = FormParser(request.headers.get("content-type", ""), max_files=2, file_names=names)
    async for chunk in chunks:
        parser.feed(chunk)
    files, fields = parser.finish_named()
    if len(files) > 1 and {name for name, _ in files} != {rapidocr.FILE, rapidocr.BASE64}:
        raise InvalidRequest(f"the form must have one file, {rapidocr.FILE!r} or {liteparse.FILE!r}, not {len(files)}")
    return Form(dict(files), fields.pairs, deadline)


def refuse(problem: Problem) -> Refusal:
    """As FastAPI's own errors, and as LiteParse's at once, because it may come before the form is read."""
    return Refusal(problem.status, {"detail": problem.detail, "error": problem.detail})


FORMS = Dialect(answer, refuse)
