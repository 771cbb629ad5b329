"""The command line; `make documents`."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence

from loadtest.accuracy.circumstances import ROOT, describe_machine
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.local_gateway import local_gateway
from loadtest.document import DocumentError, Markers, update_document
from loadtest.documents.chart import chart
from loadtest.documents.made import fax, scanned_pdf
from loadtest.documents.streaming import TIMEOUT_S, Leaving, Run, leave_after, read_all
from loadtest.terminal import say

DOCUMENT = ROOT / "docs" / "documents.md"
PICTURE = ROOT / "docs" / "documents.svg"
OUT = ROOT / "results" / "documents"
LEAVES_AFTER = 5
MB = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Read two long documents, and leave a third reading in the middle."""
    options = parser().parse_args(arguments)
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ["OCR_MAX_TIMEOUT_S"] = str(TIMEOUT_S)
    documents = [scanned_pdf(options.pages), fax(options.pages // 2)]
    try:
        with local_gateway(OUT / "gateway.log", say) as address:
            warm_up = read_all(address, scanned_pdf(2))
            say(f"warmed up with {len(warm_up.arrivals)} pages")
            runs = [read_all(address, document) for document in documents]
            leaving = leave_after(address, documents[0], min(LEAVES_AFTER, options.pages // 2))
        text = "".join(report(runs, leaving))
        PICTURE.write_text(chart(runs))
        update_document(DOCUMENT, text, Markers.of("documents"))
    except (AccuracyError, DocumentError) as error:
        say(f"documents: {error}")
        return 2
    print(text)
    return 0 if all(run.right == len(run.document.titles) for run in runs) else 1


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="python -m loadtest.documents", description="Long documents as streams.")
    top.add_argument("--pages", type=int, default=200, help="of the PDF; the TIFF has half (default: %(default)s)")
    return top


def report(runs: Sequence[Run], leaving: Leaving) -> Iterator[str]:
    """The figures, as Markdown."""
    yield f"On {describe_machine()}; memory is that of the gateway and its decoder processes together.\n\n"
    yield "| document | MB | first page | pages a second | read rightly | memory after 10 % | 50 % | 100 % |\n"
    yield "|---|---|---|---|---|---|---|---|\n"
    for run in runs:
        memory = " | ".join(f"{run.memory_at(share) / MB:.0f} MB" for share in (0.1, 0.5, 1.0))
        yield f"| {run.document.name} | {len(run.document.data) / MB:.1f} | {1000 * run.arrivals[0]:.0f} ms "
        yield f"| {run.pages_per_s:.2f} | {run.right} of {len(run.document.titles)} | {memory} |\n"
    yield f"\nA client that left after {leaving.pages} pages: a second later the gateway and its decoders used "
    yield f"{leaving.processor_share:.1%} of a core.\n\n![memory over the pages](documents.svg)\n"


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
