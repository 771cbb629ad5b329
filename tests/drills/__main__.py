"""The command line of the drills; `python -m tests.drills --help`."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.document import DocumentError
from loadtest.terminal import say
from tests.drills.campaign import Options, run
from tests.drills.errors import DrillError
from tests.drills.faults import FAULTS, SHORT
from triton_models.errors import BuildError
from triton_models.preconditions import PreconditionError
from triton_models.server import TritonStartError

DOCUMENT = ROOT / "docs" / "drills.md"
EXIT_GOOD, EXIT_BAD, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the drills; the exit code says whether all is explained."""
    options = to_options(parser().parse_args(arguments))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return EXIT_GOOD if asyncio.run(run(options, say)).good else EXIT_BAD
    except (DrillError, DocumentError, PreconditionError, BuildError, TritonStartError) as error:
        say(f"drills: {error}")
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_IMPOSSIBLE


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m tests.drills",
        description="Breaks a real Triton and real gateways under load, and accounts for every request.",
        epilog="Exit code: 0 all well; 1 something is unexplained, not made, or a goal is missed that is no matter of "
        "speed; 2 no drills could be made.",
    )
    some = top.add_mutually_exclusive_group()
    some.add_argument("--short", action="store_true", help=f"only {', '.join(SHORT)}, once each")
    some.add_argument("--only", nargs="+", choices=FAULTS, metavar="FAULT", help=f"of: {', '.join(FAULTS)}")
    top.add_argument("--repeats", type=int, metavar="N", help="of each fault (default: as the table of faults says)")
    top.add_argument("--home", type=Path, default=ROOT / ".local", help="of Triton and the models (%(default)s)")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "drills", help="default: %(default)s")
    document = top.add_mutually_exclusive_group()
    document.add_argument("--document", type=Path, help="default: docs/drills.md for all faults, else none")
    document.add_argument("--no-document", action="store_true", help="write no document")
    return top


def to_options(given: argparse.Namespace) -> Options:
    """The options in the campaign's own words."""
    names = SHORT if given.short else given.only or tuple(FAULTS)
    whole = not (given.short or given.only or given.no_document or given.repeats)
    return Options(
        faults={name: FAULTS[name] for name in names},
        repeats=1 if given.short else given.repeats,
        home=given.home,
        out=given.out,
        document=given.document or (DOCUMENT if whole else None),
    )


if __name__ == "__main__":
    sys.exit(main())
