"""When a line is read a second time, and which reading wins. Decisions only: the pipeline does the reading.

Score separates upright from turned text far better than a classifier of orientation does, so the recogniser judges:

* a line as high as a tall letter or higher is read lying down and as it stands;
* a line that scores low is read again upside down, and that reading must be clearly better, and good in itself where
  it contradicts the page: noise reads as something either way up, and "d" upside down as "p";
* when most of a page reads best turned, the page is turned: its other lines are read so too, and short lines that make
  sense either way up ("60", "W") are believed the page's way up;
* an image as thin as one line is also read whole, when the detector found next to nothing in it.

What is to be read next and which reading has won are functions of a line's readings, in the order of their making.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gateway.ocr.elements import Transcription
from gateway.ocr.options import RecognitionOptions

UPRIGHT = 0
LYING = 270
"""The turn of a tall crop: a quarter counter-clockwise, which is how the PP-OCR recognisers were taught vertical text
(its first character comes to stand on the left)."""

OTHERS_UPSIDE_DOWN = frozenset("69bqdpnuMW()[]{}<>")
"""Characters that are other characters upside down."""

WAYS_UP: Mapping[int, frozenset[int]] = {
    0: frozenset({0, 270}),
    90: frozenset({90, 0}),
    180: frozenset({180, 90}),
    270: frozenset({270, 0}),
}
"""By the page's turn, the turns that give text the right way up on it: its own, and that of vertical text on it.

A page that reads best in the turn of vertical text may be just that, upright, so there both keep their rights.
"""

UPSIDE_DOWN = {page: frozenset((turned + 180) % 360 for turned in turns) for page, turns in WAYS_UP.items()}
"""Their opposites."""

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
    best = _best(readings, WAYS_UP[UPRIGHT])
    opposite = _opposite(best.turned)
    doubtful = _worth(best) < options.doubtful_score
    return opposite if options.reread and doubtful and not _has(readings, opposite) else None


def page_turn(votes: Iterable[Reading], options: RecognitionOptions) -> int:
    """The turn in which more than half of a page's accepted characters were read; upright if there is none."""
    characters: Counter[int] = Counter()
    for reading in votes:
        if is_accepted(reading.transcription, options):
            characters[reading.turned] += len(reading.transcription.text)
    turned, most = max(characters.items(), key=lambda item: item[1], default=(UPRIGHT, 0))
    return turned if 2 * most > characters.total() else UPRIGHT


def lacks_page_turn(readings: Sequence[Reading], page: int, options: RecognitionOptions) -> bool:
    """Whether a line of a page that is turned has not been read the page's way up yet."""
    return options.reread and page != UPRIGHT and not _has(readings, page)


def lean(readings: Sequence[Reading], options: RecognitionOptions, *, page: int = UPRIGHT) -> Reading:
    """The best reading of those that stand the right way up, unless another is better by the gain: a line's vote.

    Args:
        readings: of one line, at least those of `first_turns`.
        options: the gain that is needed.
        page: the page's turn.
    """
    expected, other = _best(readings, WAYS_UP[page]), _best(readings, UPSIDE_DOWN[page])
    return other if _worth(other) > _worth(expected) + options.reread_gain else expected


def choose(readings: Sequence[Reading], options: RecognitionOptions, *, page: int) -> Reading:
    """The reading that wins on a page of known turn: as `lean`, but only a telling one contradicts the page."""
    best = lean(readings, options, page=page)
    contradicts = best.turned not in WAYS_UP[page]
    return _best(readings, WAYS_UP[page]) if contradicts and not _is_telling(best, options) else best


def is_accepted(transcription: Transcription, options: RecognitionOptions) -> bool:
    """Whether a line belongs on the page: it says something, and scores enough."""
    return bool(transcription.text.strip()) and transcription.score >= options.min_score


def wants_whole_image(size: tuple[int, int], accepted: int, options: RecognitionOptions) -> bool:
    """Whether an image of this (height, width) with so many accepted lines is also read whole, as one line."""
    height, width = size
    return options.reread and accepted <= 1 and height <= THIN_HEIGHT and width >= height


def whole_image_wins(whole: Transcription, accepted: Iterable[Transcription], options: RecognitionOptions) -> bool:
    """Whether the whole image, read as one line, takes the place of the accepted lines."""
    return is_accepted(whole, options) and all(whole.score > line.score for line in accepted)


def _best(readings: Sequence[Reading], turns: Collection[int]) -> Reading:
    """The best reading in one of these turns, of equals the earliest; of all readings if there is none."""
    if len(readings) == 1:
        return readings[0]
    fitting = [reading for reading in readings if reading.turned in turns]
    return max(fitting or readings, key=_worth)


def _is_telling(reading: Reading, options: RecognitionOptions) -> bool:
    """Whether a reading says how a line stands: it is not doubtful, and makes no other sense upside down."""
    return _worth(reading) >= options.doubtful_score and not OTHERS_UPSIDE_DOWN.issuperset(reading.transcription.text)


def _has(readings: Sequence[Reading], turned: int) -> bool:
    return any(reading.turned == turned for reading in readings)


def _opposite(turned: int) -> int:
    return (turned + 180) % 360


def _worth(reading: Reading) -> float:
    """The score, but nothing for a text of nothing but spaces."""
    return reading.transcription.score if reading.transcription.text.strip() else 0.0
