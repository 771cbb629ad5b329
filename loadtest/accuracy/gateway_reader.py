"""The gateway's side of the comparison: pages over HTTP, as a client would send them."""

import time
from pathlib import Path

import httpx
from pydantic import BaseModel, Field, ValidationError

from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.readings import Line, Reading

TIMEOUT_S = 120
"""What the gateway is given for a page: its default limit. Two busy cores take half a minute for the densest page."""


class AnswerWord(BaseModel):
    """A word of an answer, as far as it matters here."""

    text: str
    space_before: str


class AnswerLine(Line):
    """A line of an answer, as far as it matters here."""

    words: tuple[AnswerWord, ...] = ()

    def line(self) -> Line:
        """The line without its words, but with what it says without spaces that were put back."""
        parts = ((" " if word.space_before == "read" else "") + word.text for word in self.words)
        bare = "".join(parts).strip() if self.words else None
        return Line(quad=self.quad, text=self.text, score=self.score, bare=bare)


class AnswerPage(BaseModel):
    """A page of an answer, as far as it matters here."""

    lines: tuple[AnswerLine, ...]


class Answer(BaseModel):
    """An answer of `POST /v1/ocr`, as far as it matters here."""

    model_set: str
    pages: tuple[AnswerPage, ...] = Field(min_length=1)


class GatewayReader:
    """Reads by `POST /v1/ocr` with the file as the raw body.

    Args:
        client: with the gateway's address as its base URL; the caller closes it.
    """

    name = "gateway"

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def read(self, image: Path) -> Reading:
        """Read one image; the time is the client's, so HTTP is in it.

        Raises:
            AccuracyError: nobody listens at the address.
        """
        data = image.read_bytes()
        start = time.perf_counter()
        try:
            page = self._ask(data).pages[0]
        except (httpx.HTTPError, ValidationError) as error:
            return Reading(seconds=time.perf_counter() - start, error=describe(error))
        return Reading(seconds=time.perf_counter() - start, lines=tuple(line.line() for line in page.lines))

    def model_set(self, image: Path) -> str:
        """Which models the gateway serves, from its answer to this image, which also warms everything up.

        Raises:
            AccuracyError: it does not answer as it should.
        """
        try:
            return self._ask(image.read_bytes()).model_set
        except (httpx.HTTPError, ValidationError) as error:
            raise AccuracyError(f"the gateway does not read {image.name}: {describe(error)}") from error

    def _ask(self, data: bytes) -> Answer:
        try:
            response = self._client.post(
                "/v1/ocr",
                content=data,
                params={"timeout": TIMEOUT_S, "level": "word"},
                timeout=httpx.Timeout(TIMEOUT_S + 10),
            )
        except httpx.ConnectError as error:
            raise AccuracyError(f"no gateway listens at {self._client.base_url}") from error
        response.raise_for_status()
        return Answer.model_validate_json(response.content)


def describe(error: httpx.HTTPError | ValidationError) -> str:
    """One line that says what went wrong."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"{error.response.status_code}: {error.response.text[:200]}"
    return f"{type(error).__name__}: {error}".splitlines()[0]
