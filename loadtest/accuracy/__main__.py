"""The command line of the comparison; `python -m loadtest.accuracy --help`."""

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.comparison import Options, run
from loadtest.accuracy.corpus import Chooser, first, quick_selection, smallest_of_each_group
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.floors import CORPUS_FLOORS, QUICK_FLOORS
from loadtest.document import DocumentError
from loadtest.terminal import say

DOCUMENT = ROOT / "docs" / "accuracy.md"
EXIT_OK, EXIT_MISSED, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; the exit code says whether every page was answered and every floor holds."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = to_options(parser().parse_args(given), given)
    try:
        return EXIT_OK if run(options, say) else EXIT_MISSED
    except (AccuracyError, DocumentError) as error:
        say(f"accuracy: {error}")
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_IMPOSSIBLE


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.accuracy",
        description="How well the gateway reads, beside the library rapidocr with the same weights.",
        epilog="Exit code: 0 all well, 1 a floor is missed or a page has no answer, 2 no comparison could be made.",
    )
    top.add_argument("--gateway", metavar="URL", help="a gateway that runs already (default: start one, and a Triton)")
    top.add_argument("--corpus", type=Path, default=ROOT.parent / "shared" / "corpus", help="default: %(default)s")
    some = top.add_mutually_exclusive_group()
    some.add_argument("--limit", type=int, metavar="N", help="only the first N pages; floors are not judged")
    some.add_argument("--sample", action="store_true", help="only the smallest page of each kind; the same")
    some.add_argument("--quick", action="store_true", help="ten small pages, read by the gateway alone")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "accuracy", help="default: %(default)s")
    document = top.add_mutually_exclusive_group()
    document.add_argument("--document", type=Path, help="default: docs/accuracy.md for the whole corpus, else none")
    document.add_argument("--no-document", action="store_true", help="write no document")
    return top


def to_options(given: argparse.Namespace, arguments: Sequence[str]) -> Options:
    """The options in the comparison's own words."""
    some = given.sample or given.limit is not None
    floors = {} if some else QUICK_FLOORS if given.quick else CORPUS_FLOORS
    document = None if given.no_document or given.quick or some else DOCUMENT
    return Options(
        command=shlex.join(["python", "-m", "loadtest.accuracy", *arguments]),
        gateway=given.gateway,
        corpus=given.corpus,
        choose=chooser(given),
        beside_library=not given.quick,
        floors=floors,
        out=given.out,
        document=given.document or document,
    )


def chooser(given: argparse.Namespace) -> Chooser:
    """What picks the pages."""
    if given.quick:
        return quick_selection
    return smallest_of_each_group if given.sample else partial(first, given.limit)


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
