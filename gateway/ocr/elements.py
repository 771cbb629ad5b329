"""What a page is made of."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from gateway.arrays import Image, Quad

Paper: TypeAlias = Literal["white", "black"]
"""What a transparent picture was put on."""

Source: TypeAlias = Literal["ocr", "text_layer"]
"""Where a line's text comes from."""


@dataclass(frozen=True, slots=True)
class PageWarning:
    """Something that the reader of a page should know: a loss, a guess, a limit that was met.

    Attributes:
        code: stable name for programs.
        detail: what happened, in words.
    """

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class TextRegion:
    """Where the detector sees a line of text.

    Attributes:
        quad: the region as it is reported, close around the text.
        crop_quad: the region as it is read: the same rectangle, grown further.
        score: mean probability of text inside, 0 to 1.
    """

    quad: Quad
    crop_quad: Quad
    score: float


@dataclass(frozen=True, slots=True)
class LayerLine:
    """A line of text that a file itself has.

    Attributes:
        text: what it says.
        box: left, top, right and bottom, in pixels of the image.
    """

    text: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Alternative:
    """What a character may be.

    Attributes:
        text: usually one code point.
        score: probability, 0 to 1.
    """

    text: str
    score: float


class Character(NamedTuple):
    """One character of a transcription. A tuple: a page makes thousands, and a frozen dataclass takes twice as long.

    Attributes:
        text: usually one code point.
        score: probability, 0 to 1.
        step: index of the recogniser's step that wrote it; the middle one of several.
        inferred: put there by a rule (a space the model nearly wrote), not by the most probable class.
        alternatives: if they were asked for, what it may be, the likeliest first, which is what it was read as.
    """

    text: str
    score: float
    step: float
    inferred: bool = False
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcription:
    """The text of one line.

    Attributes:
        text: the characters, joined.
        score: mean probability of the characters that the model wrote; 0 for no text.
        characters: the characters with their steps, left to right.
        steps: the width of the crop in steps.
    """

    text: str
    score: float
    characters: tuple[Character, ...] = ()
    steps: float = 0.0


class Space(StrEnum):
    """What parts a word from the one before."""

    NONE = "none"
    READ = "read"
    INFERRED = "inferred"


@dataclass(frozen=True, slots=True)
class PlacedCharacter:
    """One character of a word, and where it stands.

    Attributes:
        text, score, alternatives: as in `Character`.
        quad: as high as its line, as wide as its ink.
    """

    text: str
    quad: Quad
    score: float
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """What a reader would mark as one word; in scripts without spaces one character with its punctuation.

    Attributes:
        text: without spaces.
        quad: as high as its line, from its first character to its last.
        score: mean probability of its characters.
        space_before: what parts it from the word before in its line.
        characters: if they were asked for, left to right.
    """

    text: str
    quad: Quad
    score: float
    space_before: Space = Space.NONE
    characters: tuple[PlacedCharacter, ...] = ()


@dataclass(frozen=True, slots=True)
class TextLine:
    """A region and its text.

    Attributes:
        region: where it is.
        transcription: what it says; None when only detection was asked for.
        turned: by how many degrees, clockwise, its crop was turned before it was read: 0, 90, 180 or 270.
        source: whether it was read, or is text that the file itself has.
        words: left to right; None if they were not asked for.
    """

    region: TextRegion
    transcription: Transcription | None = None
    turned: int = 0
    source: Source = "ocr"
    words: tuple[Word, ...] | None = None


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together.

    Attributes:
        lines: their places in the page's lines.
        quad: around them all, from where their text begins.
    """

    lines: tuple[int, ...]
    quad: Quad


@dataclass(frozen=True, slots=True)
class Picture:
    """What an image was made from.

    Attributes:
        file_type: such as "JPEG".
        mode: the samples of a pixel, as Pillow calls them: "RGB", "L" (grey), "P" (palette), "1", "CMYK", "I;16", ...
        width, height: pixels as they are stored, before they were turned; of a PDF's page, as it was drawn.
        frames: pictures in the file.
        turned: whether the orientation in the metadata changed anything.
        paper: what shows where it is transparent, if it is.
    """

    file_type: str
    mode: str
    width: int
    height: int
    frames: int = 1
    turned: bool = False
    paper: Paper | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The result of one image.

    Attributes:
        picture: what the image was made from.
        width, height: pixels of the upright image; quads refer to it.
        lines: in reading order.
        warnings: everything that was lost, guessed or limited.
        scaled: size at which lines were looked for, of the image's.
        image: its pixels, if they were asked for.
        turned: by how many degrees, clockwise, it must be turned for its text to be upright: 0, 90, 180 or 270.
        skew: by how many degrees, clockwise, its text runs off level once it is turned.
        paragraphs: each line is in one, in order.
    """

    picture: Picture
    width: int
    height: int
    lines: tuple[TextLine, ...] = ()
    warnings: tuple[PageWarning, ...] = field(default=())
    scaled: float = 1.0
    image: Image | None = field(default=None, compare=False, repr=False)
    turned: int = 0
    skew: float = 0.0
    paragraphs: tuple[Paragraph, ...] = ()

    @property
    def text(self) -> str:
        """The lines' texts, one a line, in reading order."""
        return "\n".join(line.transcription.text for line in self.lines if line.transcription)
