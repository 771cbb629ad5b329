"""What a page is made of."""

from dataclasses import dataclass, field

from gateway.arrays import Quad


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
class Character:
    """One character of a transcription.

    Attributes:
        text: usually one code point.
        score: probability, 0 to 1.
        step: index of the recogniser's step that wrote it; the middle one of several.
        inferred: put there by a rule (a space the model nearly wrote), not by the most probable class.
    """

    text: str
    score: float
    step: float
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Transcription:
    """The text of one line.

    Attributes:
        text: the characters, joined.
        score: mean probability of the characters that the model wrote; 0 for no text.
        characters: the characters with their steps, left to right.
        steps: the width of the crop in steps: a character's middle stands at (step + 0.5) / steps of it.
    """

    text: str
    score: float
    characters: tuple[Character, ...] = ()
    steps: float = 0.0


@dataclass(frozen=True, slots=True)
class TextLine:
    """A region and its text.

    Attributes:
        region: where it is.
        transcription: what it says; None when only detection was asked for.
        turned: by how many degrees, clockwise, its crop was turned before it was read: 0, 90, 180 or 270.
    """

    region: TextRegion
    transcription: Transcription | None = None
    turned: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """The result of one image.

    Attributes:
        width, height: pixels of the upright image; quads refer to it.
        lines: in reading order.
        warnings: everything that was lost, guessed or limited.
    """

    width: int
    height: int
    lines: tuple[TextLine, ...] = ()
    warnings: tuple[PageWarning, ...] = field(default=())

    @property
    def text(self) -> str:
        """The lines' texts, one a line, in reading order."""
        return "\n".join(line.transcription.text for line in self.lines if line.transcription)
