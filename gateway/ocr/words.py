"""The words and characters of lines that have been read, as quads in the image.

A line is cut out once more, just as it was read, because where a character ends is seen in its pixels. Its words are
as high as its reported quad, so they lie in it whichever way it runs: the quad starts at the top-left corner of the
text, and the crop was cut along it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gateway.arrays import Image, Plane, Quad
from gateway.ocr.characters import Columns, place_characters
from gateway.ocr.crops import crop_line, plane_if_grey
from gateway.ocr.ctc import mean_score
from gateway.ocr.elements import Character, PlacedCharacter, TextLine, Word
from gateway.ocr.geometry import Quads, carry_over, slice_quad
from gateway.ocr.word_breaks import WordCharacters, split_words


def with_words(image: Image, lines: Sequence[TextLine], *, line_height: int, characters: bool) -> tuple[TextLine, ...]:
    """The same lines with their words; a line that has not been read has none.

    Args:
        image: the page that they were found in.
        lines: as they were read, with the crop's quad and the characters' steps.
        line_height: of the recogniser, in pixels.
        characters: whether words get their characters.
    """
    page = plane_if_grey(image)
    return tuple(replace(line, words=_words(page, line, line_height, characters)) for line in lines)


def _words(image: Image | Plane, line: TextLine, line_height: int, characters: bool) -> tuple[Word, ...]:
    words = split_words(line.transcription.characters) if line.transcription else []
    if not words:
        return ()
    crop = crop_line(image, line.region.crop_quad, line_height=line_height)
    columns = place_characters(crop, [character for word in words for character in word.characters])
    ends = np.cumsum([len(word.characters) for word in words])
    of_words = np.split(columns, ends[:-1])
    word_quads = _quads(line, np.array([_around(one) for one in of_words]), crop.shape[1])
    quads = np.split(_quads(line, columns, crop.shape[1]), ends[:-1])
    return tuple(
        _word(word, quad, own if characters else None) for word, quad, own in zip(words, word_quads, quads, strict=True)
    )


def _around(columns: Columns) -> tuple[float, float]:
    """The first column of these characters and the one after their last."""
    return columns[:, 0].min(), columns[:, 1].max()


def _quads(line: TextLine, columns: Columns, width: int) -> Quads:
    """What these columns of the line's crop are in the image, as high as the reported quad: (columns, 4, 2)."""
    region = line.region
    return slice_quad(region.quad, carry_over(columns / width, region.crop_quad, region.quad))


def _word(word: WordCharacters, quad: Quad, quads: Quads | None) -> Word:
    placed = () if quads is None else _placed(word.characters, quads)
    text = "".join(character.text for character in word.characters)
    return Word(text, quad, mean_score(word.characters), word.space_before, placed)


def _placed(characters: Sequence[Character], quads: Quads) -> tuple[PlacedCharacter, ...]:
    pairs = zip(characters, quads, strict=True)
    return tuple(
        PlacedCharacter(character.text, quad, character.score, character.alternatives) for character, quad in pairs
    )
