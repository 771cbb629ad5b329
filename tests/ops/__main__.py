"""The command line; `make ops-check`. One line a check.

Exit code: 0 all is well, 1 something is not, 2 nothing is wrong as far as could be checked, but a program is missing.
"""

import sys
from collections.abc import Callable, Mapping

from loadtest.accuracy.errors import AccuracyError
from tests.ops.checks import CHECKS
from tests.ops.programs import CheckFailed, ProgramMissing, install_tools

EXIT_GOOD, EXIT_BAD, EXIT_UNCHECKED = 0, 1, 2


def main(checks: Mapping[str, Callable[[], str]] = CHECKS) -> int:
    """Run all checks and print their lines; the exit code."""
    try:
        install_tools(say)
    except AccuracyError as error:
        say(f"pip could not install the tools, so their checks are missing: {error}")
    codes = [report(name, check) for name, check in checks.items()]
    say(f"{len(codes)} checks: {codes.count(EXIT_GOOD)} good, {codes.count(EXIT_BAD)} bad, "
        f"{codes.count(EXIT_UNCHECKED)} not possible here")  # fmt: skip
    return next((code for code in (EXIT_BAD, EXIT_UNCHECKED) if code in codes), EXIT_GOOD)


def report(name: str, check: Callable[[], str]) -> int:
    """Run one check and print its line, and what is wrong below it."""
    try:
        say(f"ok       {name}: {check()}")
    except CheckFailed as error:
        say(f"BAD      {name}:\n{error}")
        return EXIT_BAD
    except ProgramMissing as error:
        say(f"missing  {name}: {error}")
        return EXIT_UNCHECKED
    return EXIT_GOOD


def say(line: str) -> None:
    """Tell whoever waits."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
