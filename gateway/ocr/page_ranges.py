"""Page numbers as people write them: `1-3,8,12-`."""

import re
from dataclasses import dataclass

SYNTAX = r"^[1-9][0-9]{0,5}(-([1-9][0-9]{0,5})?)?(,[1-9][0-9]{0,5}(-([1-9][0-9]{0,5})?)?)*$"
"""Of the option; each number has up to six digits."""

_LAST = 999_999


@dataclass(frozen=True, slots=True)
class PageRanges:
    """Some pages.

    Attributes:
        ranges: first and last page of each.
    """

    ranges: tuple[tuple[int, int], ...] = ((1, _LAST),)

    @classmethod
    def parse(cls, text: str) -> "PageRanges":
        """The ranges of a text.

        Raises:
            ValueError: it is no list of ranges, or one of them ends before it begins.
        """
        if not re.fullmatch(SYNTAX, text):
            raise ValueError("page numbers and ranges are written as in 1-3,8,12-")
        ranges = tuple(_range(part) for part in text.split(","))
        if any(first > last for first, last in ranges):
            raise ValueError("a range ends before it begins")
        return cls(ranges)

    def select(self, count: int) -> tuple[int, ...]:
        """The numbers that a file of so many pages has, in ascending order, each once."""
        spans = ((first, min(last, count)) for first, last in self.ranges)
        return tuple(sorted({number for first, last in spans for number in range(first, last + 1)}))

    def missing(self, count: int) -> str:
        """What such a file does not have of that which was asked for; empty if it has everything."""
        beyond = [(max(first, count + 1), last) for first, last in self.ranges if first > count or count < last < _LAST]
        return ",".join(_written(first, last) for first, last in beyond)


def _range(part: str) -> tuple[int, int]:
    first, dash, last = part.partition("-")
    return int(first), int(last) if last else _LAST if dash else int(first)


def _written(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-" if last == _LAST else f"{first}-{last}"
