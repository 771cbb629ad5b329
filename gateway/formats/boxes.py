"""What formats have in common: upright boxes around quads, and the words of any line."""

from typing import NamedTuple

import numpy as np

from gateway.arrays import Quad
from gateway.ocr.elements import Page, Space, TextLine, Word


class Box(NamedTuple):
    """Whole pixels, the right and lower ones not included."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """In pixels."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """In pixels."""
        return self.bottom - self.top


def box_of(quad: Quad, page: Page) -> Box:
    """The smallest upright box around a quad, within the page."""
    left, top = np.floor(quad.min(axis=0)).astype(int).tolist()
    right, bottom = np.ceil(quad.max(axis=0)).astype(int).tolist()
    return Box(max(0, left), max(0, top), min(page.width, right), min(page.height, bottom))


def whole_page(page: Page) -> Box:
    """The page itself."""
    return Box(0, 0, page.width, page.height)


def read_lines(page: Page) -> list[TextLine]:
    """The lines that say something."""
    return [line for line in page.lines if line.transcription and line.transcription.text.strip()]


def words_of(line: TextLine) -> tuple[Word, ...]:
    """The words of a line; a line whose words are not known, such as a file's own text, is one word."""
    if line.words or not line.transcription:
        return line.words or ()
    return (Word(line.transcription.text, line.region.quad, line.transcription.score),)


def has_space_before(word: Word) -> bool:
    """Whether a space parts a word from the one before."""
    return word.space_before is not Space.NONE
