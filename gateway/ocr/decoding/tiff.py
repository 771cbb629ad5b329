"""The pages of a TIFF, by its chain of image directories, without decoding any.

Reading page 300 need not walk past 299 others each time: `with_first` gives the same file with its chain begun at
another page, which costs a copy of the bytes and no parsing.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gateway.errors import UnreadableImage

MAX_PAGES = 5_000
"""How far a chain is followed: crafted files link millions."""

_SIZE_TAGS = (256, 257)
"""ImageWidth and ImageLength."""

_INTEGERS = {3: "H", 4: "I", 16: "Q"}
"""Types of a field that may hold them (SHORT, LONG, LONG8), and their `struct` codes."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """How wide the fields are (TIFF 6.0, section 2; BigTIFF).

    Attributes:
        count: `struct` code of a directory's number of entries.
        link: of a place in the file.
        entry_bytes: length of an entry.
        head: where the place of the first directory stands.
    """

    count: str
    link: str
    entry_bytes: int
    head: int


def page_offsets(data: bytes) -> tuple[int, ...]:
    """Where the directory of each page begins; the chain ends where it leaves the file or comes back to itself.

    Raises:
        UnreadableImage: it is longer than any that is followed.
    """
    return tuple(_chain(data))


def page_size(data: bytes, offset: int) -> tuple[int, int]:
    """(width, height) of the page whose directory begins at `offset`; 0 for what it does not say."""
    layout, order = _layout(data), _order(data)
    wanted = dict.fromkeys(_SIZE_TAGS, 0)
    try:
        (entries,) = struct.unpack_from(order + layout.count, data, offset)
        first = offset + struct.calcsize(order + layout.count)
        for at in range(first, first + entries * layout.entry_bytes, layout.entry_bytes):
            tag, kind = struct.unpack_from(order + "HH", data, at)
            if tag in wanted and kind in _INTEGERS:
                value_at = at + layout.entry_bytes - struct.calcsize(layout.link)
                (wanted[tag],) = struct.unpack_from(order + _INTEGERS[kind], data, value_at)
    except struct.error:
        pass  # cut, or pointing outside
    return wanted[_SIZE_TAGS[0]], wanted[_SIZE_TAGS[1]]


def with_first(data: bytes, offset: int) -> bytes:
    """The same file, whose first page is the one with its directory at `offset`."""
    layout = _layout(data)
    link = struct.pack(_order(data) + layout.link, offset)
    return data[: layout.head] + link + data[layout.head + len(link) :]


def _chain(data: bytes) -> Iterator[int]:
    layout, order = _layout(data), _order(data)
    seen: set[int] = set()
    at = layout.head
    try:
        while True:
            (directory,) = struct.unpack_from(order + layout.link, data, at)
            if not directory or directory in seen:
                return
            (entries,) = struct.unpack_from(order + layout.count, data, directory)
            if len(seen) == MAX_PAGES:
                raise UnreadableImage(f"the TIFF has more than {MAX_PAGES:,} pages; cut it up")
            seen.add(directory)
            yield directory
            at = directory + struct.calcsize(order + layout.count) + layout.entry_bytes * entries
    except struct.error:
        return  # cut, or pointing outside


def _layout(data: bytes) -> _Layout:
    return _Layout("Q", "Q", 20, 8) if b"+" in data[2:4] else _Layout("H", "I", 12, 4)


def _order(data: bytes) -> str:
    return "<" if data[:2] == b"II" else ">"
