"""The most memory that processes held: the kernel's own mark, which misses no peak between two looks (Linux)."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_RESET_PEAK = "5"
"""What proc(5) calls resetting the "high water mark" of the resident set."""
_FIELDS = re.compile(r"^(VmHWM|VmRSS):\s+(\d+) kB$", re.MULTILINE)


def forget_peaks(pids: Iterable[int]) -> None:
    """Begin anew: from now on a process's peak is what it holds now, or more."""
    for pid in pids:
        with suppress(ProcessLookupError, FileNotFoundError):
            Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)


def peak_bytes(pids: Iterable[int]) -> int:
    """The sum of the peaks of these processes, resident bytes; what several of them map is counted for each."""
    return sum(_fields(pid).get("VmHWM", 0) for pid in pids)


def resident_bytes(pids: Iterable[int]) -> int:
    """The sum of what these processes hold now."""
    return sum(_fields(pid).get("VmRSS", 0) for pid in pids)


def _fields(pid: int) -> dict[str, int]:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return {}
    return {name: 1024 * int(kilobytes) for name, kilobytes in _FIELDS.findall(status)}
