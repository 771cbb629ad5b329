"""Areas of a page that are to be read, or not: a line belongs to the area in which its middle lies."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from gateway.arrays import Quad
from gateway.ocr.elements import LayerLine, TextRegion

SYNTAX = r"^\d{1,5},\d{1,5},[1-9]\d{0,4},[1-9]\d{0,4}(;\d{1,5},\d{1,5},[1-9]\d{0,4},[1-9]\d{0,4}){0,99}$"
"""What `Areas.parse` takes."""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle in pixels of the upright image; the right and lower edge are not part of it."""

    left: int
    top: int
    width: int
    height: int

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies in it."""
        return 0 <= x - self.left < self.width and 0 <= y - self.top < self.height


@dataclass(frozen=True, slots=True)
class Areas:
    """What of a page is wanted.

    Attributes:
        wanted: lines in one of these are read; without any, all are.
        ignored: but lines in one of these are not.
    """

    wanted: tuple[Area, ...] = ()
    ignored: tuple[Area, ...] = ()

    @classmethod
    def parse(cls, wanted: str, ignored: str) -> Self:
        """From texts such as "0,0,400,200;0,600,400,80", which must match SYNTAX or be empty."""
        return cls(_areas(wanted), _areas(ignored))

    def __bool__(self) -> bool:
        return bool(self.wanted or self.ignored)

    def take(self, regions: Sequence[TextRegion]) -> tuple[TextRegion, ...]:
        """The regions that are wanted."""
        if not self:
            return tuple(regions)
        return tuple(region for region in regions if self._takes(*_middle(region.quad)))

    def take_layer(self, layer: Sequence[LayerLine]) -> tuple[LayerLine, ...]:
        """The lines of a file's own text that are wanted."""
        middles = (((line.box[0] + line.box[2]) / 2, (line.box[1] + line.box[3]) / 2) for line in layer)
        return tuple(line for line, middle in zip(layer, middles, strict=True) if self._takes(*middle))

    def _takes(self, x: float, y: float) -> bool:
        wanted = not self.wanted or any(area.holds(x, y) for area in self.wanted)
        return wanted and not any(area.holds(x, y) for area in self.ignored)


def _middle(quad: Quad) -> tuple[float, float]:
    return float(quad[:, 0].mean()), float(quad[:, 1].mean())


def _areas(text: str) -> tuple[Area, ...]:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return tuple(Area(*numbers[first : first + 4]) for first in range(0, len(numbers), 4))
