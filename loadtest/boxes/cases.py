"""What is drawn: texts and ways to stand that the placing was not made with."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from loadtest.boxes.drawn import Drawing, draw_column, draw_line, ideograph_font, latin_font

LATIN = "Order 4711-B, due (net): EUR 1,234.50 within fifteen days."
CHINESE = "每个人都应该读书，因为书里有光。"  # noqa: RUF001 - a Chinese comma
COLUMN = "每个人都应该读书因为书里有光"
LONG = " ".join([LATIN] * 5)
SIZES = (20, 32)


def _latin(text: str, size: int, **how: int) -> Drawing:
    return draw_line(text, latin_font(size), **how)


def _chinese(size: int, degrees: int) -> Drawing | None:
    font = ideograph_font(size)
    return draw_line(CHINESE, font, degrees=degrees) if font else None


def _column(size: int) -> Drawing | None:
    font = ideograph_font(size)
    return draw_column(COLUMN, font) if font else None


CASES: Mapping[str, Callable[[int], Drawing | None]] = MappingProxyType(
    {
        "Latin, level": lambda size: _latin(LATIN, size),
        "Latin, turned by 7 degrees": lambda size: _latin(LATIN, size, degrees=7),
        "Latin, turned by 90 degrees": lambda size: _latin(LATIN, size, degrees=90),
        "Latin, turned by 180 degrees": lambda size: _latin(LATIN, size, degrees=180),
        "Latin, light on dark": lambda size: _latin(LATIN, size, inverted=True),
        "Latin, read in pieces": lambda size: _latin(LONG, size),
        "Chinese, level": lambda size: _chinese(size, 0),
        "Chinese, turned by 7 degrees": lambda size: _chinese(size, 7),
        "Chinese, turned by 180 degrees": lambda size: _chinese(size, 180),
        "Chinese, in a column": _column,
    }
)
"""A drawing of each kind, by the size of its letters in pixels; None where a font is missing."""
