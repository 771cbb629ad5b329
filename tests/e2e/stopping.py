"""Processes that hang because they are stopped."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOPPED = "T"
"""The state of a thread in its `stat` (proc(5))."""


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process hangs while the context lasts, which begins when all of its threads stand still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        while not stands_still(pid):
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def stands_still(pid: int) -> bool:
    """Whether no thread of a process runs."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    try:
        return all(thread.read_text().rpartition(") ")[2].startswith(STOPPED) for thread in threads)
    except OSError:  # one ended meanwhile, so it ran
        return False
