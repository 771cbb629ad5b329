"""What a format is: something that takes pages as soon as they are read, and makes one answer of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from gateway.ocr.elements import Page


@dataclass(frozen=True, slots=True)
class About:
    """What a document says of its making.

    Attributes:
        software: name and version of the service.
        model_set: what read it.
        created: when, with a time zone.
        dpi: pixels to the inch, for formats that are measured on paper.
    """

    software: str
    model_set: str
    created: datetime
    dpi: int


class Writer(Protocol):
    """Makes one answer.

    A page is written at once and then forgotten, so that a long document takes no more memory than what is sent.
    """

    def add(self, page: Page, number: int) -> None:
        """Write a page; its number in the answer counts from 1."""

    def finish(self) -> bytes:
        """The whole answer."""


@dataclass(frozen=True, slots=True)
class Format:
    """A form in which pages are given.

    Attributes:
        media_type: of the answer.
        description: for people, a sentence.
        begin: makes the writer of one answer.
        words: whether lines need their words.
        image: whether pages need their pixels.
        single: whether it holds one page and no more.
    """

    media_type: str
    description: str
    begin: Callable[[About], Writer]
    words: bool = False
    image: bool = False
    single: bool = False


WritePage = Callable[[Page, int], bytes]
"""What one page is, by the page and its number."""

WriteDocument = Callable[[Sequence[bytes], About], bytes]
"""The answer from all of its pages."""


class JoinedPages:
    """A writer for formats whose pages are put side by side."""

    def __init__(self, write_page: WritePage, write_document: WriteDocument, about: About) -> None:
        self._write_page = write_page
        self._write_document = write_document
        self._about = about
        self._pages: list[bytes] = []

    def add(self, page: Page, number: int) -> None:
        """Write a page."""
        self._pages.append(self._write_page(page, number))

    def finish(self) -> bytes:
        """All pages, and what goes around them."""
        return self._write_document(self._pages, self._about)


def joined(write_page: WritePage, write_document: WriteDocument) -> Callable[[About], Writer]:
    """What begins a writer of this kind."""
    return partial(JoinedPages, write_page, write_document)
