"""The command line; `python -m loadtest.boxes --help`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import cv2
import httpx
import numpy as np

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.local_gateway import local_gateway
from loadtest.boxes.cases import CASES, SIZES
from loadtest.boxes.drawn import Drawing, Glyph
from loadtest.boxes.overlap import Overlap, Placed, overlap, read
from loadtest.terminal import say

DRAWN, WORD, CHARACTER = (0, 160, 0), (200, 80, 0), (0, 0, 230)
"""Colours, blue first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the table, and write a picture of each case; the exit code."""
    options = parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            url = options.gateway or stack.enter_context(local_gateway(options.out / "gateway.log", say))
            client = stack.enter_context(httpx.Client(base_url=url, timeout=60, trust_env=False))
            for line in table(client, options.out):
                print(line, flush=True)
    except (AccuracyError, httpx.HTTPError) as error:
        say(f"boxes: {error}")
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="python -m loadtest.boxes", description="How exactly words are placed.")
    top.add_argument("--gateway", metavar="URL", help="a gateway that runs already (default: start one, and a Triton)")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "boxes", help="for pictures; default: %(default)s")
    return top


def table(client: httpx.Client, out: Path) -> Iterator[str]:
    """A row for each case and size; the pictures are written on the way."""
    yield "| drawn | size | words: mean IoU | lowest | characters: mean IoU | lowest | not read |"
    yield "|---|---|---|---|---|---|---|"
    for name, draw in CASES.items():
        for size in SIZES:
            drawing = draw(size)
            if drawing is None:
                yield f"| {name} | {size} | no font | | | | |"
                continue
            placed = read(client, drawing)
            cv2.imwrite(str(out / f"{name.replace(', ', '-').replace(' ', '-')}-{size}.png"), picture(drawing, placed))
            words, characters = overlap(drawing.words, placed.words), overlap(drawing.glyphs, placed.characters)
            yield f"| {name} | {size} | {figures(words)} | {figures(characters)} | {characters.missing} |"


def figures(fit: Overlap) -> str:
    """Mean and lowest, as cells; ideographs are words of their own, so there may be nothing to compare."""
    return f"{fit.mean:.3f} | {min(fit.ious):.2f}" if fit.ious else "- | -"


def picture(drawing: Drawing, placed: Placed) -> cv2.typing.MatLike:
    """The drawing four times as large, with the drawn glyphs in green, words in blue and characters in red."""
    canvas = cv2.resize(drawing.pixels, None, fx=4, fy=4, interpolation=cv2.INTER_NEAREST)
    for glyphs, color in ((drawing.glyphs, DRAWN), (placed.words, WORD), (placed.characters, CHARACTER)):
        cv2.polylines(canvas, [outline(glyph) for glyph in glyphs], isClosed=True, color=color)
    return canvas


def outline(glyph: Glyph) -> cv2.typing.MatLike:
    """Its corners in pixels of the enlarged picture."""
    return np.rint(4 * glyph.quad).astype(np.int32)


if __name__ == "__main__":
    sys.exit(main())
