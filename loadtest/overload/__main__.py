"""The command line of the overload; `python -m loadtest.overload --help`."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.app import event_loop_factory
from loadtest.accuracy.circumstances import ROOT
from loadtest.document import DocumentError
from loadtest.overload.campaign import Options, Outcome, run
from loadtest.overload.errors import OverloadError
from loadtest.overload.stand import STANDS, possible
from loadtest.terminal import say
from tests.drills.errors import DrillError

DOCUMENT = ROOT / "docs" / "overload.md"
SECONDS = 30.0
EXIT_GOOD, EXIT_BAD, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Flood the gateway; the exit code says whether every request was answered as it should be."""
    options = to_options(parser().parse_args(arguments), possible(tuple(STANDS)))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return EXIT_GOOD if flood(options).good else EXIT_BAD
    except (OverloadError, DrillError, DocumentError) as error:
        say(f"overload: {error}")
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_IMPOSSIBLE


def flood(options: Options) -> Outcome:
    """Run it on the quickest event loop there is."""
    with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
        return runner.run(run(options, say))


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.overload",
        description="Asks the gateway many times more than it can answer, alone and behind nginx.",
        epilog="Exit code: 0 every request was answered as it should be, though goals of speed may be missed; "
        "1 one was not; 2 nothing could be made.",
    )
    top.add_argument("--seconds", type=float, default=SECONDS, metavar="N", help="of a phase (%(default)g)")
    top.add_argument("--only", choices=STANDS, help="one arrangement; default: all that can be built here")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "overload", help="default: %(default)s")
    top.add_argument("--no-document", action="store_true", help="write no document")
    return top


def to_options(given: argparse.Namespace, stands: Sequence[str]) -> Options:
    """The options in the campaign's own words; only what was made in full goes into the document."""
    chosen = [given.only] if given.only else list(stands)
    whole = set(chosen) == set(STANDS) and given.seconds >= SECONDS and not given.no_document
    return Options(chosen, given.seconds, given.out, DOCUMENT if whole else None)


if __name__ == "__main__":
    sys.exit(main())
