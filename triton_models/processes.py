"""Children that end when they should: bound to their starter's life, and ended as a group."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LAUNCHER = Path(__file__).parent / "launch.py"
POLL_INTERVAL_S = 0.02
INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def die_with_parent(command: Sequence[str], *, library_path: str | None = None) -> list[str]:
    """The command line that runs `command` and kills it when this process ends, SIGKILL included.

    Args:
        command: its first word is the path of the executable.
        library_path: LD_LIBRARY_PATH for the command alone; by default this process's.

    Raises:
        RuntimeError: not on the main thread. Linux takes the end of the *thread* that made the child for the end of the
            parent, so a child made on a worker thread would be killed at some odd moment.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("start children that die with their parent on the main thread")
    if library_path is None:
        library_path = os.environ.get("LD_LIBRARY_PATH", "")
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), library_path, *command]


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back while a child is made; on the main thread.

    A handler that raised in the middle of `Popen` would lose the child's id, and with it the way to end its group.
    """
    caught: list[int] = []
    before = {number: signal.signal(number, lambda got, _: caught.append(got)) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in caught:
            signal.raise_signal(late)


def group_members(group: int) -> list[int]:
    """Ids of the living processes of a process group; zombies don't count."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _is_member(folder / "stat", group)]


def kill_group(group: int, *, timeout_s: float = 5.0) -> None:
    """End what is left of a process group, and wait until it is gone."""
    end = time.monotonic() + timeout_s
    while group_members(group) and time.monotonic() < end:
        with suppress(ProcessLookupError):  # it ended meanwhile
            os.killpg(group, signal.SIGKILL)
        time.sleep(POLL_INTERVAL_S)


def _is_member(stat_file: Path, group: int) -> bool:
    try:
        stat = stat_file.read_text()
    except OSError:  # it ended meanwhile
        return False
    # "pid (name) state ppid pgrp ...", where the name may hold anything.
    state, _, its_group = stat.rpartition(")")[2].split()[:3]
    return state != "Z" and int(its_group) == group
