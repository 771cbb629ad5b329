"""The command line of the rollouts; `python -m loadtest.rollout --help`."""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.document import DocumentError
from loadtest.rollout.campaign import Options, run
from loadtest.rollout.steps import steps
from loadtest.terminal import say
from tests.drills.errors import DrillError
from triton_models.errors import BuildError
from triton_models.preconditions import PreconditionError
from triton_models.server import TritonStartError

DOCUMENT = ROOT / "docs" / "overload.md"
TIMES, REQUESTS, RATE = 20, 10_000, 30.0
EXIT_GOOD, EXIT_BAD, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Replace everything; the exit code says whether every request got its page."""
    options = to_options(parser().parse_args(arguments))
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return EXIT_GOOD if asyncio.run(run(options, say)).good else EXIT_BAD
    except (DrillError, DocumentError, PreconditionError, BuildError, TritonStartError) as error:
        say(f"rollout: {error}")
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_IMPOSSIBLE


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.rollout",
        description="Replaces gateways, Tritons and a model's version under load, and accounts for every request.",
        epilog="Exit code: 0 every request got its page; 1 not every one, or a step is left out; 2 none could be made.",
    )
    top.add_argument("--times", type=int, default=TIMES, metavar="N", help="of each step (%(default)s)")
    top.add_argument("--requests", type=int, default=REQUESTS, metavar="N", help="at least (%(default)s)")
    top.add_argument("--rate", type=float, default=RATE, metavar="N", help="requests per second at most (%(default)g)")
    top.add_argument("--home", type=Path, default=ROOT / ".local", help="of Triton and the models (%(default)s)")
    top.add_argument("--out", type=Path, default=ROOT / "results" / "rollout", help="default: %(default)s")
    top.add_argument("--no-document", action="store_true", help="write no document")
    return top


def to_options(given: argparse.Namespace) -> Options:
    """The options in the campaign's own words; only what was made in full goes into the document."""
    whole = given.times >= TIMES and given.requests >= REQUESTS and not given.no_document
    return Options(
        steps=steps(given.times),
        requests=given.requests,
        rate=given.rate,
        home=given.home,
        out=given.out,
        document=DOCUMENT if whole else None,
    )


if __name__ == "__main__":
    sys.exit(main())
