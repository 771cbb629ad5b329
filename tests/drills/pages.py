"""What the drills send: mostly single lines, a few full pages, and small images of the corpus where it is present."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle
from pathlib import Path

from PIL import Image

from tests.e2e.rendered_pages import lines_of_words, page, png, small_page

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "images"
MAX_PHOTO_PIXELS = 120_000
PHOTOS = 2


class Kind(StrEnum):
    """Kinds of page."""

    LINE = "line"  # an image of one line, not searched for text: a few milliseconds of work
    PAGE = "page"  # six lines of varied width
    DENSE = "dense"  # many lines of about one width, so that they share a chunk
    PHOTO = "photo"  # of the corpus; a page where there is none


USUAL = (*14 * (Kind.LINE,), Kind.PAGE, *14 * (Kind.LINE,), Kind.PHOTO)
FULL_CHUNKS = (*4 * (Kind.LINE,), Kind.DENSE)


@dataclass(frozen=True, slots=True)
class SentPage:
    """An image and the options it is sent with.

    Attributes:
        name: in the ledger.
        data: the image.
        options: of the request.
    """

    name: str
    data: bytes = field(repr=False)
    options: Mapping[str, str]


Pages = Mapping[Kind, Sequence[SentPage]]


def render_pages(corpus: Path = CORPUS) -> Pages:
    """The pages of each kind; the same bytes each time."""
    texts = lines_of_words(24, longest=3)
    lines = [SentPage(f"line-{number}", png(_line(text)), {"detect": "false"}) for number, text in enumerate(texts)]
    pages = [_page(f"page-{number}", small_page(number)) for number in range(4)]
    dense = [_page(f"dense-{number}", _dense(5 * number)) for number in range(2)]
    return {Kind.LINE: lines, Kind.PAGE: pages, Kind.DENSE: dense, Kind.PHOTO: list(_photos(corpus)) or pages}


def stream(pages: Pages, pattern: Sequence[Kind]) -> Iterator[SentPage]:
    """Pages of the pattern's kinds, over and over, and of each kind one after the other; the same each time."""
    turns = {kind: cycle(pages[kind]) for kind in pattern}
    return (next(turns[kind]) for kind in cycle(pattern))


def _page(name: str, image: Image.Image) -> SentPage:
    """A page that is not enlarged, which takes less work."""
    return SentPage(name, png(image), {"min_side": "0"})


def _dense(first: int) -> Image.Image:
    return page(lines_of_words(20, first=first, longest=1), width=256, height=640, size=18, step=31)


def _line(text: str) -> Image.Image:
    """One line, and little paper around it."""
    return page([text], width=40 + 16 * len(text), height=56, size=24)


def _photos(corpus: Path) -> Iterator[SentPage]:
    """The first small ones; none without the corpus."""
    files = (file for file in sorted(corpus.glob("*.*")) if _pixels(file) <= MAX_PHOTO_PIXELS)
    for _, file in zip(range(PHOTOS), files, strict=False):
        yield SentPage(file.name, file.read_bytes(), {"min_side": "0"})


def _pixels(file: Path) -> int:
    with Image.open(file) as image:
        return image.width * image.height
