"""The command line; `python -m loadtest.order --help`."""

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import cv2
import httpx
import numpy as np

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.gateway_reader import GatewayReader
from loadtest.accuracy.local_gateway import local_gateway
from loadtest.accuracy.rapidocr_reader import RapidocrReader, prepare_environment
from loadtest.accuracy.readings import Reader, Reading
from loadtest.accuracy.report import table
from loadtest.document import DocumentError, Markers, update_document
from loadtest.order.figures import Kept, Quads, kept, top_to_bottom
from loadtest.order.layouts import LAYOUTS, Layout
from loadtest.order.picture import picture
from loadtest.terminal import say

DOCUMENT = ROOT / "docs" / "reading-order.md"
READERS = ("plain sort", "rapidocr", "gateway")

Figures = dict[str, Kept]
"""By reader."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Read, compare, draw and write; the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(given)
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as stack:
            readers = open_readers(options, stack)
            figures = {layout: measure(layout, readers, options) for layout in LAYOUTS[: options.limit]}
        today = datetime.now(UTC).date()
        command = f"`{shlex.join(['python', '-m', 'loadtest.order', *given])}` on {today}: {len(figures)} pages."
        report = "\n".join([command, "", *write(figures)])
        print(report)
        update_document(options.document, report, Markers.of("order"))
    except (AccuracyError, DocumentError, httpx.HTTPError) as error:
        say(f"order: {error}")
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="python -m loadtest.order", description="In which order lines are read.")
    top.add_argument("--gateway", metavar="URL", help="a gateway that runs already (default: start one, and a Triton)")
    top.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus", help="default: %(default)s")
    top.add_argument("--limit", type=int, metavar="N", help="only the first N pages; those with columns come first")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "order", help="for pictures; default: %(default)s")
    top.add_argument("--document", type=Path, default=DOCUMENT, help="default: %(default)s")
    return top


def open_readers(options: argparse.Namespace, stack: ExitStack) -> tuple[Reader, Reader]:
    """The library and the gateway."""
    python = prepare_environment(ROOT / ".local" / "peers", ROOT / "requirements" / "peers.txt", say)
    library = stack.enter_context(RapidocrReader(python))
    url = options.gateway or stack.enter_context(local_gateway(options.out / "gateway.log", say))
    return library, GatewayReader(stack.enter_context(httpx.Client(base_url=url, trust_env=False)))


def measure(layout: Layout, readers: tuple[Reader, Reader], options: argparse.Namespace) -> Figures:
    """One page by everybody; a picture of the gateway's order is written.

    Raises:
        AccuracyError: somebody could not read it.
    """
    path = options.corpus / layout.file
    image = cv2.imread(str(path))
    if image is None:
        raise AccuracyError(f"no image at {path}")
    library, gateway = (quads_of(reader.read(path), layout.file) for reader in readers)
    cv2.imwrite(str(options.out / f"{path.stem}.png"), picture(image, gateway))
    say(layout.file)
    given = (top_to_bottom(gateway), library, gateway)
    return {name: kept(quads, image.shape[:2], layout) for name, quads in zip(READERS, given, strict=True)}


def quads_of(reading: Reading, file: str) -> Quads:
    """The quads of a page, in the reader's order."""
    if reading.error is not None:
        raise AccuracyError(f"{file}: {reading.error}")
    return np.array([line.quad for line in reading.lines], np.float64)


def write(figures: Mapping[Layout, Figures]) -> Iterator[str]:
    """The report: a row for each page, and one for each kind of layout."""
    header = ("page", "layout", "lines", *(f"{name}: τ" for name in READERS), *(f"{name}: next" for name in READERS))
    rows = [(Path(layout.file).stem, layout.kind, *cells(list(one.values()))) for layout, one in figures.items()]
    yield table(header, rows)
    kinds = dict.fromkeys(layout.kind for layout in figures)
    yield ""
    yield table(header[1:], [(kind, *mean_cells(of_kind(figures, kind))) for kind in kinds])


def of_kind(figures: Mapping[Layout, Figures], kind: str) -> list[Figures]:
    """The figures of the pages of one kind."""
    return [one for layout, one in figures.items() if layout.kind == kind]


def cells(one: Sequence[Kept]) -> list[str]:
    """Of one page: what the gateway found, and both figures of each reader."""
    return [str(one[-1].lines), *(f"{kept.tau:.3f}" for kept in one), *(f"{kept.neighbours:.3f}" for kept in one)]


def mean_cells(pages: Sequence[Figures]) -> list[str]:
    """Of several pages: means, in which every page counts alike."""
    lines = sum(page[READERS[-1]].lines for page in pages)
    taus = [float(np.mean([page[name].tau for page in pages])) for name in READERS]
    neighbours = [float(np.mean([page[name].neighbours for page in pages])) for name in READERS]
    return [str(lines), *(f"{value:.3f}" for value in (*taus, *neighbours))]


if __name__ == "__main__":
    sys.exit(main())
