"""Orders of several files and pages: what is worked on when, and what is given back."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from gateway.deadline import Deadline
from gateway.documents import PAGES_AT_ONCE, Order, opened
from gateway.errors import InvalidRequest, UnreadableImage
from gateway.metrics import StageTimes
from gateway.ocr.decoding.picture import FileInfo
from gateway.ocr.elements import Page, Picture
from gateway.ocr.options import PageOptions
from gateway.ocr.page_ranges import PageRanges

BROKEN = b"broken"
PAGE = Page(Picture("TIFF", "1", 10, 10), 10, 10)


@dataclass
class File:
    info: FileInfo
    closed: int = 0

    def close(self):
        self.closed += 1


@dataclass
class Reader:
    """Files of so many pages as their data have bytes; page n has n pixels. A page waits until it may go on."""

    files: list = field(default_factory=list)
    under_way: set = field(default_factory=set)
    most: int = 0
    cancelled: list = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, data, options, *, deadline, times):
        if data == BROKEN:
            raise UnreadableImage("it is broken")
        self.files.append(File(FileInfo("TIFF", tuple(range(1, len(data) + 1)))))
        return self.files[-1]

    async def read(self, file, number, options, *, deadline, times):
        self.under_way.add(number)
        self.most = max(self.most, len(self.under_way))
        try:
            await asyncio.sleep(0.001)
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        finally:
            self.under_way.remove(number)
        return PAGE


def order(*files, pages="1-", max_pages=100):
    return Order(files, PageRanges.parse(pages), PageOptions(), max_pages, Deadline.after(60))


@pytest.mark.parametrize(
    ("files", "pages", "pixels"),
    [([b"a"], "1-", 1), ([b"abc"], "1-", 5), ([b"abc"], "1-2", 3), ([b"abc", b"abcde", BROKEN], "1-", 9)],
)
async def test_it_holds_the_pixels_of_its_two_largest_pages(files, pages, pixels):
    async with opened(Reader(), order(*files, pages=pages), StageTimes()) as delivery:
        assert delivery.pixels == pixels


async def test_two_pages_are_worked_on_at_a_time_and_come_in_their_order():
    reader = Reader()
    reader.go_on.set()
    async with opened(reader, order(b"abcd", BROKEN, b"ab"), StageTimes()) as delivery:
        assert delivery.total == 7
        async with aclosing(delivery.results()) as results:
            places = [(result.file, result.number) async for result in results]
    assert places == [(1, 1), (1, 2), (1, 3), (1, 4), (2, None), (3, 1), (3, 2)]
    assert reader.most == PAGES_AT_ONCE == 2


async def test_whoever_stops_in_the_middle_ends_the_work_ahead():
    reader = Reader()
    async with opened(reader, order(b"abcd"), StageTimes()) as delivery:
        async with aclosing(delivery.results()) as results:
            first = asyncio.ensure_future(anext(results))
            while len(reader.under_way) < 2:  # noqa: ASYNC110 - tasks that have just been made
                await asyncio.sleep(0)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
        assert sorted(reader.cancelled) == [1, 2]
        assert reader.under_way == set()
    assert [file.closed for file in reader.files] == [1]


async def test_files_are_closed_when_the_order_can_not_be_met():
    reader = Reader()
    with pytest.raises(InvalidRequest, match="nothing of file 2 is asked for: the file has 1 pages"):
        async with opened(reader, order(b"abc", b"a", pages="2-"), StageTimes()):
            pass
    assert [file.closed for file in reader.files] == [1, 1]
