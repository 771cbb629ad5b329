"""When a line is read a second time, and which reading wins. Decisions only: the pipeline does the reading.

Scores tell upright text from turned text far better than a classifier of orientation does, so the recogniser judges:

* a crop clearly higher than wide is read lying down and as it stands;
* a line that scores low is read again upside down, and that reading must be clearly better;
* when most lines of a page come out upside down, the page is: every other line is read upside down too;
* an image as thin as one line is also read whole, when the detector found next to nothing in it.

What is to be read next and which reading has won are functions of a line's readings, in the order of their making.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gateway.ocr.elements import Transcription
from gateway.ocr.options import RecognitionOptions

UPRIGHT = 0
LYING = 270
"""The turn of a tall crop: a quarter counter-clockwise, which is how the PP-OCR recognisers were taught vertical text
(its first character comes to stand on the left)."""

THIN_HEIGHT = 128
"""An image up to this many pixels high, and not higher than wide, may be a single line."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one crop was read as.

    Attributes:
        turned: by how many degrees, clockwise, the crop was turned before.
        transcription: what was read.
    """

    turned: int
    transcription: Transcription


def first_turns(size: tuple[int, int], options: RecognitionOptions) -> tuple[int, ...]:
    """The turns in which a crop of this (height, width) is read at first."""
    height, width = size
    if height < options.tall_ratio * width:
        return (UPRIGHT,)
    return (LYING, UPRIGHT) if options.reread else (LYING,)


def next_turn(readings: Sequence[Reading], options: RecognitionOptions) -> int | None:
    """The turn in which a line is to be read again; None if its readings are enough."""
    first = _best_first(readings)
    turned = _upside_down(first.turned)
    tried = any(reading.turned == turned for reading in readings)
    doubtful = _worth(first.transcription) < options.doubtful_score
    return turned if options.reread and doubtful and not tried else None


def choose(readings: Sequence[Reading], options: RecognitionOptions) -> Reading:
    """The reading that wins: the best of the first ones, unless upside down it reads better by the gain."""
    first = _best_first(readings)
    needed = _worth(first.transcription) + options.reread_gain
    turned = _upside_down(first.turned)
    second = next((reading for reading in readings if reading.turned == turned), None)
    return second if second and _worth(second.transcription) > needed else first


def is_accepted(transcription: Transcription, options: RecognitionOptions) -> bool:
    """Whether a line belongs on the page: it says something, and scores enough."""
    return bool(transcription.text.strip()) and transcription.score >= options.min_score


def page_is_turned(chosen: Iterable[Reading], options: RecognitionOptions) -> bool:
    """Whether more than half of a page's accepted lines were best upside down."""
    votes = [
        reading.turned not in (UPRIGHT, LYING) for reading in chosen if is_accepted(reading.transcription, options)
    ]
    return sum(votes) > len(votes) / 2


def turned_page(options: RecognitionOptions) -> RecognitionOptions:
    """The options for a page known to be turned: every line is doubtful, and the better reading wins by any gain."""
    return replace(options, doubtful_score=math.inf, reread_gain=0.0)


def page_turn(chosen: Iterable[Reading], options: RecognitionOptions) -> int:
    """The turn in which most of a page's accepted characters were read, for its reading order."""
    characters: Counter[int] = Counter({UPRIGHT: 0})
    for reading in chosen:
        if is_accepted(reading.transcription, options):
            characters[reading.turned] += len(reading.transcription.text)
    return max(sorted(characters), key=characters.__getitem__)


def wants_whole_image(size: tuple[int, int], accepted: int, options: RecognitionOptions) -> bool:
    """Whether an image of this (height, width) with so many accepted lines is also read whole, as one line."""
    height, width = size
    return options.reread and accepted <= 1 and height <= THIN_HEIGHT and width >= height


def whole_image_wins(whole: Transcription, accepted: Iterable[Transcription], options: RecognitionOptions) -> bool:
    """Whether the whole image, read as one line, takes the place of the accepted lines."""
    return is_accepted(whole, options) and all(whole.score > line.score for line in accepted)


def _best_first(readings: Sequence[Reading]) -> Reading:
    """The best reading that is not upside down; of equals the earliest."""
    upright = [reading for reading in readings if reading.turned in (UPRIGHT, LYING)]
    return max(upright, key=lambda reading: _worth(reading.transcription))


def _upside_down(turned: int) -> int:
    return (turned + 180) % 360


def _worth(transcription: Transcription) -> float:
    """The score, but nothing for a text of nothing but spaces."""
    return transcription.score if transcription.text.strip() else 0.0
