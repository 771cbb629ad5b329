"""What formats have in common: upright boxes around quads, lines by paragraph, and the words of any line."""

from typing import NamedTuple

import numpy as np

from gateway.arrays import Quad
from gateway.ocr.elements import Page, Paragraph, Space, TextLine, Word
from gateway.ocr.geometry import whole_quad


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


class ReadParagraph(NamedTuple):
    """Lines that belong together and say something, numbered on the page from 1."""

    quad: Quad
    lines: list[tuple[int, TextLine]]


def read_paragraphs(page: Page) -> list[ReadParagraph]:
    """The paragraphs that say something; of a page whose paragraphs are not known, all lines are one."""
    numbers = {id(line): number for number, line in enumerate(read_lines(page), 1)}
    known = page.paragraphs or (Paragraph(tuple(range(len(page.lines))), whole_quad(page.height, page.width)),)
    paragraphs = [(one.quad, [page.lines[index] for index in one.lines]) for one in known]
    read = [
        ReadParagraph(quad, [(numbers[id(line)], line) for line in lines if id(line) in numbers])
        for quad, lines in paragraphs
    ]
    return [paragraph for paragraph in read if paragraph.lines]


def words_of(line: TextLine) -> tuple[Word, ...]:
    """The words of a line; a line whose words are not known, such as a file's own text, is one word."""
    if line.words or not line.transcription:
        return line.words or ()
    return (Word(line.transcription.text, line.region.quad, line.transcription.score),)


def has_space_before(word: Word) -> bool:
    """Whether a space parts a word from the one before."""
    return word.space_before is not Space.NONE
