"""What a caller may choose for one page. Defaults and their reasons live here and nowhere else.

The figures behind the defaults stand in docs/accuracy.md.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gateway.ocr.areas import Areas

TextLayer: TypeAlias = Literal["ignore", "prefer", "only"]

Level: TypeAlias = Literal["line", "word", "char"]
"""How finely places are told."""


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """How text regions are found.

    Attributes:
        limit_side: the longer side is scaled down to this many pixels before detection; a long image only until its
            shorter side has 0.37 of them (736 of 2,000), so that receipts and long screenshots stay legible.
        min_side: a shorter side below this is scaled up to it, by `max_upscale` at most and within `limit_side`.
        max_upscale: how far a small image may be scaled up.
        binarize_threshold: pixels at or above this probability are text.
        box_threshold: regions whose mean probability is below this are dropped.
        unclip_ratio: how far a reported quad grows from the shrunken text kernel (DB paper, section 3.4).
        crop_unclip_ratio: how far the crop that is read grows; wider than the report, because the recogniser was
            trained on such crops.
        max_regions: more regions than this are cut, lowest scores first, with a warning.
        tile: look at a large image in tiles of `limit_side`, at full size, instead of scaling it down.
    """

    limit_side: int = 2000
    min_side: int = 736
    max_upscale: float = 2.0
    binarize_threshold: float = 0.3
    box_threshold: float = 0.45
    unclip_ratio: float = 1.2
    crop_unclip_ratio: float = 1.6
    max_regions: int = 5000
    tile: bool = False


@dataclass(frozen=True, slots=True)
class RecognitionOptions:
    """How lines are read.

    Attributes:
        min_score: lines that score below this are left out of the page.
        reread: read doubtful lines a second time turned, and tall ones also as they stand.
        doubtful_score: below this score a line is doubtful.
        reread_gain: a second reading must score this much better to win.
        tall_ratio: a crop at least this many times as high as wide is tall.
        space_probability: a space that the model gave at least this probability, between two ASCII letters or
            digits, is put back; above 1 none is.
        partial: give the page even if some of its lines can't be read.
        alternatives: how many each character is given at most, what it was read as with them; 0 for none.
    """

    min_score: float = 0.5
    reread: bool = True
    doubtful_score: float = 0.85
    reread_gain: float = 0.1
    tall_ratio: float = 1.5
    space_probability: float = 0.1
    partial: bool = False
    alternatives: int = 0


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """What becomes of a page that is no picture: a PDF's.

    Attributes:
        dpi: resolution at which it is drawn, pixels to the inch. At 200, A4 has 1654 x 2339 pixels, and 8 points are
            22 pixels.
        text_layer: what of the text that the file itself has is taken: nothing; that which can be seen, instead of
            reading it; or all of it, and nothing is read.
    """

    dpi: int = 200
    text_layer: TextLayer = "ignore"


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Everything a caller may choose for one page.

    Attributes:
        detect: find lines; if off, the whole image is read as one line.
        recognize: read lines; if off, only regions are returned.
        detection: how regions are found.
        recognition: how lines are read.
        document: how the page of a PDF is drawn, and what of its text is taken.
        level: whether words and characters are placed, too.
        keep_image: whether the page keeps its pixels, for those who draw on them.
        areas: of the page that are to be read, or not.
    """

    detect: bool = True
    recognize: bool = True
    detection: DetectionOptions = field(default_factory=DetectionOptions)
    recognition: RecognitionOptions = field(default_factory=RecognitionOptions)
    document: DocumentOptions = field(default_factory=DocumentOptions)
    level: Level = "line"
    keep_image: bool = False
    areas: Areas = field(default_factory=Areas)
