"""Which characters make a word: what stands between spaces, and in scripts without spaces each ideograph for itself.

Punctuation and digits belong to the word that they touch, as a reader would mark it: "it's", "(lazy)", "1,234.50".
Next to ideographs, a closing mark goes with what is before it and an opening one with what follows, as where lines are
broken (Unicode Standard Annex 14, classes CL, OP and ID). Korean is written with spaces, so its syllables make words.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.ocr.elements import Character, Space

_OPENING = frozenset({"Ps", "Pi"})
_CLOSING = frozenset({"Pe", "Pf", "Po"})


@dataclass(frozen=True, slots=True)
class WordCharacters:
    """One word.

    Attributes:
        characters: at least one, none of them a space.
        space_before: what parts it from the word before.
    """

    characters: tuple[Character, ...]
    space_before: Space


def split_words(characters: Sequence[Character]) -> list[WordCharacters]:
    """The words of a line; every character that is no space is in exactly one."""
    words: list[WordCharacters] = []
    space = Space.NONE
    current: list[Character] = []
    for character in characters:
        is_space = character.text.isspace()
        if current and (is_space or _parts(current[-1].text, character.text)):
            words.append(WordCharacters(tuple(current), space))
            current, space = [], Space.NONE
        if is_space:
            space = _both(space, Space.INFERRED if character.inferred else Space.READ)
        else:
            current.append(character)
    return [*words, WordCharacters(tuple(current), space)] if current else words


def _both(first: Space, second: Space) -> Space:
    """Of several spaces in a row, one that was read counts."""
    return Space.READ if Space.READ in (first, second) else second


def _parts(left: str, right: str) -> bool:
    """Whether a word ends between two characters without a space between them."""
    if not (writes_no_spaces(left[-1]) or writes_no_spaces(right[0])):
        return False
    category = unicodedata.category(right[0])
    return category not in _CLOSING and category[0] != "M" and unicodedata.category(left[-1]) not in _OPENING


def writes_no_spaces(character: str) -> bool:
    """Whether a character's script writes none: ideographs, kana, bopomofo, and their full-width punctuation."""
    category, width = unicodedata.category(character), unicodedata.east_asian_width(character)
    if category in ("Lo", "Lm"):
        return width in "WH" and "HANGUL" not in unicodedata.name(character, "")
    return category[0] == "P" and width in "WF"


def line_joint(text: str) -> str:
    """What stands between a line of a paragraph and the next: a space, or nothing if its script writes none."""
    return "" if text and writes_no_spaces(text[-1]) else " "
