"""The pages that the measurements read: three kinds from the labelled corpus, and forms that are drawn here.

| kind | pages |
|---|---|
| receipts | scans of till receipts (SROIE), 463 to 937 pixels wide and up to three times as high |
| forms | 762 x 1000 pixels, like those of FUNSD, on which others publish their throughput; drawn |
| dense | pages of documents in English and Chinese at 100 to 300 dpi |
| scene | street photographs, 1280 x 720 (ICDAR 2015) |
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

CORPUS_PATTERNS = {"receipts": "sroie_*", "dense": "??pdf_*", "scene": "icdar15_*"}
KINDS = (*CORPUS_PATTERNS, "forms")
LEFT_OUT = {
    "enpdf_nics_1330cells.png": "1,330 lines: a kind of its own",
    "sroie_461.jpg": "35 megapixels: its decoding would be measured",
    "sroie_106.jpg": "twice as long as any other",
}
MOST_PAGES = 12
"""Of each kind: all pages together travel with one call."""
FORMS = 8
FORM_SIZE = (762, 1000)
FORM_FIELDS = 24
_TEXT = """
account address amount approved authority balance branch carrier charge city code company contract country customer
date delivery department description discount due employee entry freight invoice item location manager number office
order payment period place product project purchase quantity rate reason receipt reference region remarks request
sample section service shipment signature state status street subject supplier tax telephone terms total transfer unit
value vendor warehouse weight
"""


@dataclass(frozen=True, slots=True)
class PageFile:
    """One page.

    Attributes:
        kind: one of KINDS.
        name: of the file, unique.
        data: the file.
    """

    kind: str
    name: str
    data: bytes


def corpus_pages(corpus: Path) -> list[PageFile]:
    """The pages that come from the corpus, by kind and name."""
    return [
        PageFile(kind, path.name, path.read_bytes())
        for kind, pattern in CORPUS_PATTERNS.items()
        for path in spread([path for path in sorted((corpus / "images").glob(pattern)) if path.name not in LEFT_OUT])
    ]


def spread(paths: Sequence[Path], most: int = MOST_PAGES) -> list[Path]:
    """At most so many of the paths, evenly from the first to the last."""
    count = min(most, len(paths))
    return [paths[index * len(paths) // count] for index in range(count)]


def drawn_forms(count: int = FORMS) -> list[PageFile]:
    """Forms with two columns of fields, about 50 lines each; the same at every call."""
    return [PageFile("forms", f"form_{number:02}.jpg", _draw_form(random.Random(number))) for number in range(count)]


def write_pages(pages: Sequence[PageFile], folder: Path) -> None:
    """Each page as KIND/NAME under the folder."""
    for page in pages:
        path = folder / page.kind / page.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page.data)


def read_pages(folder: Path) -> Mapping[str, list[PageFile]]:
    """What `write_pages` wrote, by kind."""
    return {
        kind: [PageFile(kind, path.name, path.read_bytes()) for path in sorted((folder / kind).iterdir())]
        for kind in KINDS
        if (folder / kind).is_dir()
    }


def _draw_form(rng: random.Random) -> bytes:
    image = Image.new("L", FORM_SIZE, 255)
    draw = ImageDraw.Draw(image)
    draw.text(
        (60, 34), f"{rng.choice(_TEXT.split())} {rng.choice(_TEXT.split())} form".upper(), 0, ImageFont.load_default(26)
    )
    font = ImageFont.load_default(15)
    top, pitch = 100, (FORM_SIZE[1] - 160) / FORM_FIELDS
    for row in range(FORM_FIELDS):
        y = top + row * pitch
        draw.text((60, y), f"{_word(rng).capitalize()} {_word(rng)}:", 0, font)
        draw.text((300, y), _value(rng), 40, font)
        draw.line((295, y + 20, 700, y + 20), 150)
    data = BytesIO()
    image.save(data, "JPEG", quality=85)
    return data.getvalue()


def _word(rng: random.Random) -> str:
    return rng.choice(_TEXT.split())


def _value(rng: random.Random) -> str:
    words = " ".join(_word(rng) for _ in range(rng.randint(1, 5)))
    return f"{words.capitalize()} {rng.randint(1, 99_999)}"
