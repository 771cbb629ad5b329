"""Lines wider than the last bucket: cut where nothing is written, read in pieces, and joined again. Never squeezed.

A line is cut into the fewest pieces that fit, near equal, each cut moved to the blankest place within reach: there a
gap between words beats a gap between letters, and that beats a stroke.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gateway.arrays import Crop
from gateway.ocr.ctc import PIXELS_PER_STEP, mean_score
from gateway.ocr.elements import Character, Transcription
from gateway.ocr.ink import Ink, blank_level, column_ink

REACH_LINE_HEIGHTS = 3
"""How far a cut may move from equal parts: far enough that most words end within it."""

WORD_GAP_LINE_HEIGHTS = 1 / 6
"""The least gap between words. On 227 printed lines it misses 3 % of the spaces and takes 3 % of the gaps between
letters for one; a cut, which looks for the blankest place, nearly always finds a space."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a wide line is cut.

    Attributes:
        column: the first column of the piece to the right.
        between_words: whether the place is blank and as wide as a space.
    """

    column: int
    between_words: bool = False


def plan_cuts(crop: Crop, *, max_width: int) -> tuple[Cut, ...]:
    """Where to cut `crop` so that no piece is wider than `max_width`; nowhere if it fits as it is."""
    line_height, width = crop.shape[:2]
    if width <= max_width:
        return ()
    reach = min(REACH_LINE_HEIGHTS * line_height, max_width // 8)
    pieces = math.ceil(width / (max_width - 2 * reach))
    ink = column_ink(crop)
    gap = max(1, round(WORD_GAP_LINE_HEIGHTS * line_height))
    return tuple(_blankest(ink, width * piece // pieces, reach, gap) for piece in range(1, pieces))


def cut_line(crop: Crop, cuts: Sequence[Cut]) -> list[Crop]:
    """The pieces of `crop`, left to right; views, not copies."""
    edges = [0, *(cut.column for cut in cuts), crop.shape[1]]
    return [crop[:, left:right] for left, right in pairwise(edges)]


def stitch(pieces: Sequence[Transcription], cuts: Sequence[Cut]) -> Transcription:
    """One transcription of the whole line from those of its pieces.

    A cut between words hides their space from the model, so one is put back, except next to a space, and next to
    characters of the full width, whose scripts write none.
    """
    if not cuts:
        return pieces[0]
    characters = list(pieces[0].characters)
    apart = False
    for cut, piece in zip(cuts, pieces[1:], strict=True):
        offset = cut.column / PIXELS_PER_STEP
        moved = [character._replace(step=character.step + offset) for character in piece.characters]
        apart = apart or cut.between_words
        if apart and characters and moved and _wants_space(characters[-1].text, moved[0].text):
            characters.append(Character(" ", 0.0, offset - 0.5, inferred=True))
        characters += moved
        apart = apart and not moved
    return Transcription(
        text="".join(character.text for character in characters),
        score=mean_score(characters),
        characters=tuple(characters),
        steps=sum(piece.steps for piece in pieces),
    )


def _blankest(ink: Ink, target: int, reach: int, gap: int) -> Cut:
    """The middle of the `gap` columns with the least ink, as near to `target` as any, within `reach` of it."""
    left = max(0, target - reach - gap // 2)
    window = ink[left : target + reach - gap // 2 + gap]
    means = np.convolve(window, np.full(gap, 1 / gap), mode="valid")
    columns = left + gap // 2 + np.arange(len(means))
    best = int(np.lexsort((np.abs(columns - target), means))[0])
    blank = window[best : best + gap].max() <= blank_level(ink)
    return Cut(int(columns[best]), between_words=bool(blank))


def _wants_space(left: str, right: str) -> bool:
    return not any(side.isspace() or unicodedata.east_asian_width(side) in "WF" for side in (left[-1], right[0]))
