"""Locks between processes: tests, `make serve` and others share installations and caches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock at `path`; others who want it wait. Its folder is made if need be. On Windows nothing is locked.

    Raises:
        OSError: no file can be made there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
