"""Golden pictures: what they say is known, so they show whether other models read as well as those that serve.

An engine in half precision or int8 can load, answer, and read nonsense; or read rightly and be sure of nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
LOST_ACCURACY = 0.005
"""Of all characters; a model that loses more than so much is refused."""
LOST_SCORE = 0.05
"""Of the mean score of lines."""


@dataclass(frozen=True, slots=True)
class Golden:
    """A picture and its text.

    Attributes:
        name: for messages.
        data: the file.
        text: what it says, a line for each line.
    """

    name: str
    data: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What models made of a picture.

    Attributes:
        text: of its lines.
        score: the mean of their scores, 0 to 1.
    """

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Marks:
    """How well models read all of them.

    Attributes:
        accuracy: share of the characters that were read rightly, 0 to 1.
        score: mean of the readings' scores.
    """

    accuracy: float
    score: float


KNOWN = Golden("the known picture", KNOWN_PICTURE, KNOWN_TEXT)


def read_folder(folder: Path | None) -> list[Golden]:
    """The known picture, and those in a folder: `NAME.png` with its text in `NAME.txt`.

    Raises:
        ValueError: a picture has no text beside it.
    """
    pictures = sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES) if folder else []
    bare = [path.name for path in pictures if not path.with_suffix(".txt").is_file()]
    if bare:
        raise ValueError(f"golden pictures without their text in a .txt beside them: {', '.join(bare)}")
    texts = (path.with_suffix(".txt").read_text(encoding="utf-8").strip() for path in pictures)
    return [KNOWN, *(Golden(path.name, path.read_bytes(), text) for path, text in zip(pictures, texts, strict=True))]


def mark(golden: Sequence[Golden], readings: Sequence[Reading]) -> Marks:
    """The marks of all readings together; long texts count for more."""
    right = [_equal_characters(one.text, reading.text) for one, reading in zip(golden, readings, strict=True)]
    characters = sum(max(len(one.text), len(reading.text)) for one, reading in zip(golden, readings, strict=True))
    return Marks(sum(right) / max(1, characters), sum(reading.score for reading in readings) / len(readings))


def refusal(serving: Marks, candidate: Marks) -> str:
    """Why the candidate must not serve; empty if it may."""
    if candidate.accuracy < serving.accuracy - LOST_ACCURACY:
        return f"it reads {candidate.accuracy:.1%} of the characters rightly, those that serve {serving.accuracy:.1%}"
    if candidate.score < serving.score - LOST_SCORE:
        return f"its lines score {candidate.score:.2f} in the mean, those of the models that serve {serving.score:.2f}"
    return ""


def _equal_characters(expected: str, actual: str) -> int:
    matcher = SequenceMatcher(None, expected, actual, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())
