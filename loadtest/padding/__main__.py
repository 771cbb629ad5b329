"""Padding over the corpus, with the buckets of both layouts and with the best there are; writes docs/performance.md.

python -m loadtest.padding             (from the widths in docs/performance/widths.json)
python -m loadtest.padding --measure   (which it measures first, on a Triton of its own)
python -m loadtest.padding --compare 64,96,128,...,2560   (the time of the recogniser with other buckets; minutes)
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.inference.batcher import BatchLimits
from gateway.inference.contract import RecognitionContract, RecognitionModel
from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.report import table
from loadtest.document import Markers, update_document
from loadtest.padding.buckets import Widths, best_buckets, by_group, pieces, waste, waste_with_rows
from loadtest.padding.measured import measure, read, write
from loadtest.padding.timing import compare
from loadtest.stages.stand import models, triton
from triton_models.catalog import LINE_HEIGHT
from triton_models.layouts import ANY_SHAPES, MAX_ROWS, PER_SHAPE_SHAPES, recognition_shapes

DOCUMENT = ROOT / "docs" / "performance.md"
WIDTHS = ROOT / "docs" / "performance" / "widths.json"
CORPUS = ROOT.parent / "shared" / "corpus"
COUNTS = (6, 8, 12, 16, 20, 24, 32)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure if asked to, and write."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.padding", description=__doc__)
    parser.add_argument("--measure", action="store_true", help="the widths anew")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    parser.add_argument("--compare", type=numbers, metavar="W,W,...", help="time these buckets; writes no document")
    parser.add_argument("--pages", type=int, default=30, help="so many for --compare (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.compare:
        print(compare(recogniser(), some(read(WIDTHS), options.pages), ANY_SHAPES.buckets, options.compare))
        return
    if options.measure:
        images = sorted((options.corpus / "images").iterdir())
        with tempfile.TemporaryDirectory() as folder, triton("ppocrv6-small", Path(folder)) as address:
            write(measure(address, images, LINE_HEIGHT), WIDTHS)
    text = describe(read(WIDTHS))
    update_document(DOCUMENT, text, Markers.of("bench-padding"))
    print(text)


def numbers(text: str) -> tuple[int, ...]:
    """An option's value: widths, ascending."""
    return tuple(sorted(map(int, text.split(","))))


def some(pages: Mapping[str, Widths], count: int) -> dict[str, list[int]]:
    """So many of the pages, of every kind; lines that are too wide in the pieces in which they are read."""
    names = sorted(pages)[:: max(1, len(pages) // count)][:count]
    return {name: pieces(pages[name], ANY_SHAPES.buckets[-1]) for name in names}


def recogniser() -> Path:
    """The file of the default set's."""
    return models("ppocrv6-small") / "text_recognition" / "1" / "model.onnx"


def describe(pages: Mapping[str, Widths]) -> str:
    """All tables."""
    last = ANY_SHAPES.buckets[-1]
    cut = {name: pieces(widths, last) for name, widths in pages.items()}
    lines = [width for widths in cut.values() for width in widths]
    per_shape = waste_with_rows(cut.values(), per_shape_contract(), max_pixels=BatchLimits().max_chunk_pixels)
    told = f"`python -m loadtest.padding`: {len(lines):,} lines of {len(cut)} pages, as they are first read."
    rows = [
        ["any", f"{len(ANY_SHAPES.buckets)}", _percent(waste(lines, ANY_SHAPES.buckets)), "none"],
        [
            "per-shape",
            f"{len(PER_SHAPE_SHAPES.buckets)}",
            _percent(waste(lines, PER_SHAPE_SHAPES.buckets)),
            _percent(per_shape),
        ],
    ]
    layouts = table(["layout", "buckets", "padding beside lines", "with rows of padding, each page alone"], rows)
    return "\n\n".join([told, layouts, _by_kind(cut), _best(lines, last)])


def per_shape_contract() -> RecognitionContract:
    """What a repository of layout "per-shape" serves."""
    models = tuple(
        RecognitionModel(f"w{width}_r{rows}", "1", width, rows, MAX_ROWS)
        for width, rows in recognition_shapes(PER_SHAPE_SHAPES)
    )
    return RecognitionContract(models, LINE_HEIGHT, PER_SHAPE_SHAPES.buckets, ("",))


def _by_kind(pages: Mapping[str, Widths]) -> str:
    rows = [
        [
            kind,
            f"{len(lines)}",
            _percent(waste(lines, ANY_SHAPES.buckets)),
            _percent(waste(lines, PER_SHAPE_SHAPES.buckets)),
        ]
        for kind, lines in by_group(pages).items()
    ]
    return table(["pages", "lines", "any", "per-shape"], rows)


def _best(lines: Sequence[int], last: int) -> str:
    rows = []
    for count in COUNTS:
        buckets = best_buckets(lines, count, last)
        rows.append([f"{count}", _percent(waste(lines, buckets)), ", ".join(map(str, buckets))])
    return table(["buckets", "least padding", "widths"], rows)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    main()
