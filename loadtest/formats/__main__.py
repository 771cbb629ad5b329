"""The command line; `make formats`."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.local_gateway import local_gateway
from loadtest.accuracy.rapidocr_reader import prepare_environment
from loadtest.document import DocumentError, Markers, update_document
from loadtest.formats.gateway_side import ask
from loadtest.formats.odd_files import OddFile, read_odd_files
from loadtest.formats.peers_side import Peers
from loadtest.formats.report import Row, table
from loadtest.terminal import say

CORPUS = ROOT.parent / "shared" / "corpus"
DOCUMENT = ROOT / "docs" / "formats.md"
OUT = ROOT / "results" / "formats"
PEERS = ROOT / ".local" / "peers"
EXIT_OK, EXIT_WRONG, EXIT_IMPOSSIBLE = 0, 1, 2


def main() -> int:
    """Ask all three about every file; the exit code says whether the gateway's answers are right."""
    files = read_odd_files(CORPUS)
    if not files:
        say(f"formats: no files in {CORPUS}")
        return EXIT_IMPOSSIBLE
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        rows = list(ask_all(files))
        update_document(DOCUMENT, table(rows), Markers.of("formats"))
    except (AccuracyError, DocumentError) as error:
        say(f"formats: {error}")
        return EXIT_IMPOSSIBLE
    print(table(rows))
    return EXIT_OK if all(row.right for row in rows) else EXIT_WRONG


def ask_all(files: Sequence[OddFile]) -> Iterator[Row]:
    """A row for each file, as it is known."""
    python = prepare_environment(PEERS, ROOT / "requirements" / "peers.txt", say)
    with ExitStack() as stack:
        address = stack.enter_context(local_gateway(OUT / "gateway.log", say))
        others = stack.enter_context(Peers(python))
        for number, file in enumerate(files, start=1):
            say(f"{number} of {len(files)}: {file.path.name}")
            yield Row(file, ask(address, file), others.ask(file.path))


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
