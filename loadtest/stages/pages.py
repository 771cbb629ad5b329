"""The pages that are measured: four mixes of the corpus, and a drawn page that is the same everywhere."""

import random
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from loadtest.gpu.pages import CORPUS_PATTERNS, LEFT_OUT, PageFile, spread

REFERENCE = "reference"
ONE_LINERS = "one-liners"
MOST_PAGES = 6
"""Of each mix."""
REFERENCE_SIZE = (1000, 1414)
"""A4 at 120 dots an inch: 1.4 megapixels."""
REFERENCE_LINES = 50
_MARGIN = 60
_WORDS = """
account address amount balance branch carrier charge city company contract country customer delivery department
description discount freight invoice item location manager number office order payment period product quantity
"""


def mixes(corpus: Path | None) -> Mapping[str, list[PageFile]]:
    """The pages by mix; without a corpus the reference page alone."""
    return {REFERENCE: [reference_page()], **(corpus_mixes(corpus) if corpus else {})}


def corpus_mixes(corpus: Path) -> Mapping[str, list[PageFile]]:
    """Receipts, dense pages, scene text and single lines."""
    patterns = {**{kind: (pattern,) for kind, pattern in CORPUS_PATTERNS.items()}, ONE_LINERS: _ONE_LINERS}
    return {kind: _chosen(kind, corpus / "images", globs) for kind, globs in patterns.items()}


_ONE_LINERS = ("ppocrword_*", "mmocrrec_*", "rapid_*rec*")


def _chosen(kind: str, folder: Path, globs: tuple[str, ...]) -> list[PageFile]:
    found = sorted({path for glob in globs for path in folder.glob(glob) if path.name not in LEFT_OUT})
    return [PageFile(kind, path.name, path.read_bytes()) for path in spread(found, MOST_PAGES)]


def reference_page() -> PageFile:
    """A JPEG of 1.4 megapixels with 50 printed lines; the same at every call."""
    rng, words = random.Random(50), _WORDS.split()
    page = Image.new("RGB", REFERENCE_SIZE, "white")
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(17)
    pitch = (REFERENCE_SIZE[1] - 2 * _MARGIN) / REFERENCE_LINES
    for line in range(REFERENCE_LINES):
        text = " ".join(rng.choice(words) for _ in range(rng.randint(4, 12)))
        draw.text((_MARGIN, _MARGIN + line * pitch), f"{text} {rng.randint(1, 99_999)}", "black", font)
    data = BytesIO()
    page.save(data, "JPEG", quality=90)
    return PageFile(REFERENCE, "reference.jpg", data.getvalue())
