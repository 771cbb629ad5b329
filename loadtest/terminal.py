"""What programs that take long say while they work."""

import sys


def say(line: str) -> None:
    """Tell the person at the terminal, apart from the program's output."""
    print(line, file=sys.stderr, flush=True)
