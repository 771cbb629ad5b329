"""Reads files page by page: which pages, a few at a time, in order, and what came of each.

A page that fails costs nothing but itself; what is read is handed on at once, so that memory does not grow with a file.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from gateway.deadline import Deadline
from gateway.decoders.decoders import OpenFile
from gateway.errors import DeadlineExceeded, ImageError, InvalidRequest, OcrError, TooManyPages
from gateway.metrics import StageTimes
from gateway.ocr.elements import Page, PageWarning
from gateway.ocr.options import PageOptions
from gateway.ocr.page_ranges import PageRanges

PAGES_AT_ONCE = 2
"""Of one request: one is decoded while the models read the other."""


class PageReader(Protocol):
    """Opens files and reads their pages; the pipeline does."""

    async def open(self, data: bytes, options: PageOptions, *, deadline: Deadline, times: StageTimes) -> OpenFile:
        """Open a file; the caller closes it.

        Raises:
            OcrError: with the stage where it happened.
        """

    async def read(
        self, file: OpenFile, number: int, options: PageOptions, *, deadline: Deadline, times: StageTimes
    ) -> Page:
        """Read one page.

        Raises:
            OcrError: with the stage where it happened.
        """


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be read, and how.

    Attributes:
        files: their data.
        pages: which of each file.
        options: of every page.
        max_pages: of all files together.
        deadline: for everything, or what `renewed` leaves of that.
        renewed: gives the deadline of each page but the first, when its turn comes; None if they share the one.
    """

    files: Sequence[bytes]
    pages: PageRanges
    options: PageOptions
    max_pages: int
    deadline: Deadline
    renewed: Callable[[], Deadline] | None = None


@dataclass(frozen=True, slots=True)
class OrderedFile:
    """One file of an order.

    Attributes:
        number: counts from 1.
        file: open, or why it is not.
        numbers: of its pages that are to be read.
        warnings: what was asked for and is not there.
    """

    number: int
    file: OpenFile | OcrError
    numbers: tuple[int, ...] = ()
    warnings: tuple[PageWarning, ...] = ()

    def close(self) -> None:
        """Close it if it is open."""
        if not isinstance(self.file, OcrError):
            self.file.close()


@dataclass(frozen=True, slots=True)
class PageResult:
    """What came of a page, or of a file that could not be opened.

    Attributes:
        file, number: which one; no number for a file.
        outcome: the page, or why there is none.
    """

    file: int
    number: int | None
    outcome: Page | OcrError


class Delivery:
    """An order under way: its files are open, and its pages come one after the other."""

    def __init__(self, reader: PageReader, order: Order, files: Sequence[OrderedFile], times: StageTimes) -> None:
        self._reader = reader
        self._order = order
        self._times = times
        self.files = tuple(files)

    @property
    def total(self) -> int:
        """How many results there will be."""
        return sum(max(1, len(file.numbers)) for file in self.files)

    @property
    def pixels(self) -> int:
        """How many pixels it holds at once, at most."""
        sizes = [
            file.file.info.page_pixels[number - 1]
            for file in self.files
            if not isinstance(file.file, OcrError)
            for number in file.numbers
        ]
        return sum(sorted(sizes)[-PAGES_AT_ONCE:])

    async def results(self) -> AsyncGenerator[PageResult, None]:
        """What came of each page, in order, as soon as it is known. Close the iterator: it works ahead."""
        under_way: deque[asyncio.Task[PageResult]] = deque()
        try:
            deadline = self._order.deadline
            for file, number in self._places():
                under_way.append(asyncio.create_task(self._read(file, number, deadline)))
                if len(under_way) == PAGES_AT_ONCE:
                    yield await under_way.popleft()
                deadline = self._order.renewed() if self._order.renewed else deadline
            while under_way:
                yield await under_way.popleft()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    def _places(self) -> Iterator[tuple[OrderedFile, int]]:
        for file in self.files:
            for number in file.numbers or (0,):
                yield file, number

    async def _read(self, ordered: OrderedFile, number: int, deadline: Deadline) -> PageResult:
        if isinstance(ordered.file, OcrError):
            return PageResult(ordered.number, None, ordered.file)
        if deadline.expired and self.total > 1:
            return PageResult(ordered.number, number, _no_time_left(deadline))
        order = self._order
        try:
            page = await self._reader.read(ordered.file, number, order.options, deadline=deadline, times=self._times)
        except OcrError as error:
            return PageResult(ordered.number, number, error)
        return PageResult(ordered.number, number, page)


@asynccontextmanager
async def opened(reader: PageReader, order: Order, times: StageTimes) -> AsyncIterator[Delivery]:
    """The order, its files open. One that can't be opened is an error in its place.

    Raises:
        OcrError: none can be opened; what kept the first from it.
        InvalidRequest: none of the pages that were asked for exists.
        TooManyPages: they are more than may be read at once.
    """
    files: list[OrderedFile] = []
    try:
        for number, data in enumerate(order.files, start=1):
            files.append(await _open(reader, order, number, data, times))
        _check(files, order)
        yield Delivery(reader, order, files, times)
    finally:
        for file in files:
            file.close()


async def _open(reader: PageReader, order: Order, number: int, data: bytes, times: StageTimes) -> OrderedFile:
    try:
        file = await reader.open(data, order.options, deadline=order.deadline, times=times)
    except ImageError as error:
        return OrderedFile(number, error)
    count = len(file.info.page_pixels)
    return OrderedFile(number, file, order.pages.select(count), _missing(order.pages, count))


def _check(files: Sequence[OrderedFile], order: Order) -> None:
    errors = [file.file for file in files if isinstance(file.file, OcrError)]
    if len(errors) == len(files):
        raise errors[0]
    pages = sum(len(file.numbers) for file in files)
    if pages > order.max_pages:
        raise TooManyPages(
            f"{pages:,} pages are asked for, and {order.max_pages:,} may be read in one request; "
            f"ask for some at a time, as in pages=1-{order.max_pages}"
        )
    for file in files:
        if not isinstance(file.file, OcrError) and not file.numbers:
            raise InvalidRequest(f"nothing of file {file.number} is asked for: {file.warnings[0].detail}")


def _no_time_left(deadline: Deadline) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"the {deadline.timeout_s:g} s of the request were over before this page's turn; ask for it with pages=, or "
        "for lines (application/x-ndjson), where each page has as long"
    )


def _missing(pages: PageRanges, count: int) -> tuple[PageWarning, ...]:
    missing = pages.missing(count)
    if not missing:
        return ()
    return (PageWarning("pages_missing", f"the file has {count} pages; there are none with the numbers {missing}"),)
