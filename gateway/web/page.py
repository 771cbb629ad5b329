"""The page at `/` on which people try the service out: files of this package, kept in memory, under a strict policy.

The page is a client like any other: all that it knows, it asks of the API.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

FOLDER = files("gateway.web").joinpath("page_files")
START = "index.html"

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Asked for anew each time, so that files of two versions never meet; the tag makes it cheap.
    "Cache-Control": "no-cache",
}

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

_METHODS = ["GET", "HEAD"]


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page.

    Attributes:
        content: its bytes.
        media_type: what they are.
        tag: changes with them (RFC 9110, 8.8.3).
    """

    content: bytes
    media_type: str
    tag: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "PageFile":
        """A file with its type, by its name."""
        return cls(content, MEDIA_TYPES[PurePath(name).suffix], f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def create_page_router() -> APIRouter:
    """The page at `/`, and its files below `/page/`."""
    known = read_files()
    router = APIRouter(include_in_schema=False)

    @router.api_route("/", methods=_METHODS)
    async def start(request: Request) -> Response:
        return response_of(known[START], request)

    @router.api_route("/page/{name}", methods=_METHODS)
    async def file(request: Request, name: str) -> Response:
        if name not in known:
            raise HTTPException(404)
        return response_of(known[name], request)

    return router


def read_files() -> dict[str, PageFile]:
    """Every file of the page by its name."""
    return {file.name: PageFile.of(file.name, file.read_bytes()) for file in FOLDER.iterdir()}


def response_of(file: PageFile, request: Request) -> Response:
    """The file, or the news that the browser has it already."""
    headers = {**HEADERS, "ETag": file.tag}
    if is_known(file.tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


def is_known(tag: str, if_none_match: str) -> bool:
    """Whether a browser that says this has the file (RFC 9110, 13.1.2: a weak tag will do)."""
    return tag in {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
