"""Names in /dev/shm: Triton's Python backend keeps its tensors there and leaves the files behind when it is killed.

Each server gets a prefix of its own and holds a lock on a file of that name for as long as any of its processes lives:
the lock is on an open file that they inherit. So what a killed server left can be told from what a living one uses,
and is removed when the next server starts.
"""

import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.platform != "win32":
    import fcntl

FOLDER = Path("/dev/shm")  # noqa: S108 - not a place for temporary files, but where shared memory is on Linux
FAMILY = "ocr-triton-"
LOCK_SUFFIX = ".lock"


@dataclass(frozen=True, slots=True)
class Claim:
    """A prefix for the names of one server.

    Attributes:
        prefix: no other server's names begin with it.
        lock: file descriptor for the server to inherit; this process closes it then.
    """

    prefix: str
    lock: int


def claim(folder: Path = FOLDER) -> Claim:
    """Take a prefix that nobody has."""
    prefix = f"{FAMILY}{secrets.token_hex(4)}-"
    lock = os.open(folder / (prefix + LOCK_SUFFIX), os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return Claim(prefix, lock)


def remove(prefix: str, folder: Path = FOLDER) -> None:
    """Remove every name with this prefix, the lock's last."""
    for path in sorted(folder.glob(prefix + "*"), key=lambda path: path.name.endswith(LOCK_SUFFIX)):
        path.unlink(missing_ok=True)


def remove_stale(folder: Path = FOLDER) -> None:
    """Remove what servers that no longer live have left."""
    for path in folder.glob(f"{FAMILY}*{LOCK_SUFFIX}"):
        if _is_unlocked(path):
            remove(path.name.removesuffix(LOCK_SUFFIX), folder)


def _is_unlocked(path: Path) -> bool:
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, removed meanwhile, or another user's
        return False
    return True
