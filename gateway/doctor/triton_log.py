"""What the last of Triton's log says."""

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.doctor.findings import Verdict, error, fine, unknown, warning
from gateway.inference.failures import BY_TEXT, NO_MEMORY

LAST_BYTES = 2_000_000
"""So much of the end of the log is looked at."""
SHOWN = 200
PIPED = Path("-")
"""In place of a file: what is piped in, from the journal or from a container's runtime."""

MEMORY_TEXTS = tuple(part for part, meaning in BY_TEXT if meaning is NO_MEMORY)
DEAD_TEXTS = ("is not healthy", "stub process")
UNLOADED = re.compile(r"failed to load '[^']*' version \d+|Poll failed|failed to load all models", re.IGNORECASE)
"""What the server prints about a model that it could not load."""


class TritonLog:
    """A log whose end is read once, for a pipe can't be read twice.

    Args:
        path: of its file, or `PIPED`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] | None = None

    async def lines(self) -> list[str]:
        """Its last lines; reading them takes a thread.

        Raises:
            OSError: it can't be read.
        """
        if self._lines is None:
            read = _last_piped if self._path == PIPED else lambda: _last_lines(self._path)
            self._lines = await asyncio.to_thread(read)
        return self._lines


async def check_readable(log: TritonLog) -> Sequence[Verdict]:
    """Whether there is a log to look at."""
    try:
        return fine(f"its last {len(await log.lines())} lines")
    except OSError as failure:
        return unknown(
            "the log can't be read", "correct --triton-log, or look into the journal", failure.strerror or ""
        )


async def check_memory(log: TritonLog) -> Sequence[Verdict]:
    """Whether anything ran out of memory."""
    lines = [line for line in await log.lines() if any(part in line.lower() for part in MEMORY_TEXTS)]
    if not lines:
        return fine("nothing ran out of memory")
    do = "see Out of memory (operations): fewer instances or models, smaller chunks, more memory"
    return warning(f"{len(lines)} lines say that memory ran out", do, lines[-1][:SHOWN])


async def check_models(log: TritonLog) -> Sequence[Verdict]:
    """Whether a model did not load, or its process died."""
    lines = await log.lines()
    verdicts: list[Verdict] = []
    if dead := [line for line in lines if any(part in line.lower() for part in DEAD_TEXTS)]:
        do = "restart Triton if triton-inference finds it, too: nothing in it starts the process of a model again"
        verdicts += error("the process of a model has died", do, dead[-1][:SHOWN])
    if unloaded := [line for line in lines if UNLOADED.search(line)]:
        do = "mend the model's files or configuration; what was loaded before goes on serving"
        verdicts += warning("a model did not load", do, unloaded[0][:SHOWN])
    return verdicts or fine("every model was loaded, and lives")


def _last_lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_BYTES))
        return file.read().decode(errors="replace").splitlines()


def _last_piped() -> list[str]:
    if sys.stdin.isatty():
        raise OSError(None, "nothing is piped in")
    return sys.stdin.buffer.read()[-LAST_BYTES:].decode(errors="replace").splitlines()
