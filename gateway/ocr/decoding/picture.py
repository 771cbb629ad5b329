"""What the decoders give, whichever of them decoded."""

from dataclasses import dataclass

from gateway.arrays import Image
from gateway.ocr.elements import LayerLine, PageWarning, Paper, Picture


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What the header of a file says.

    Attributes:
        file_type: name of the type, such as "JPEG".
        page_pixels: of each page, in order; an animation has one. What is over a limit is not decoded, and counts 0.
    """

    file_type: str
    page_pixels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """What a decoder gives.

    Attributes:
        pixels: BGR (height, width, 3), as they are stored.
        paper: what they were put on, if they have transparency.
        warnings: what had to be guessed.
    """

    pixels: Image
    paper: Paper | None = None
    warnings: tuple[PageWarning, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoded:
    """One page of a file.

    Attributes:
        image: upright.
        picture: what it was made from.
        warnings: what of the data is not in the image, and what had to be guessed.
        text_layer: what the file itself has as text, as far as it is asked for.
    """

    image: Image
    picture: Picture
    warnings: tuple[PageWarning, ...] = ()
    text_layer: tuple[LayerLine, ...] = ()
