"""The command line; `make fuzz`."""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.errors import AccuracyError
from loadtest.terminal import say
from tests.fuzz.environment import prepare
from tests.fuzz.fuzzers import Outcome, run_atheris, run_hypothesis, run_schemathesis
from tests.fuzz.service import fake_gateway

OUT = ROOT / "results" / "fuzz"
EXIT_OK, EXIT_FOUND, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz; the exit code says whether something was found."""
    options = parser().parse_args(arguments)
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        outcomes = list(run(Path(tempfile.mkdtemp(dir=OUT)), options.seconds, options.cases))
    except AccuracyError as error:
        say(f"fuzz: {error}")
        return EXIT_IMPOSSIBLE
    return EXIT_OK if all(outcome.passed for outcome in outcomes) else EXIT_FOUND


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Inputs that nobody would think of.")
    top.add_argument("--seconds", type=int, default=600, help="for atheris; default: %(default)s")
    top.add_argument("--cases", type=int, default=400, help="of schemathesis, for each operation; default: %(default)s")
    return top


def run(folder: Path, seconds: int, cases: int) -> Iterator[Outcome]:
    """One fuzzer after the other."""
    python = prepare(say)
    yield told(run_hypothesis(folder, examples=max(100, 10 * seconds)))
    with fake_gateway(folder) as address:
        yield told(run_schemathesis(python, folder, address, seconds=seconds, cases=cases))
    yield told(run_atheris(python, folder, seconds))


def told(outcome: Outcome) -> Outcome:
    """The outcome, once it has been said."""
    said = "nothing found" if outcome.passed else f"FOUND something, see {outcome.log}"
    say(f"{outcome.name}: {outcome.cases:,} cases, {said}")
    return outcome


if __name__ == "__main__":
    sys.exit(main())
