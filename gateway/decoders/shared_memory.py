"""Bytes that two processes share without copying: anonymous memory, handed over as a file descriptor (Linux).

The memory is sealed against shrinking: whoever maps it would be killed by reading what the other has cut off.
"""

import fcntl
import mmap
import os
from collections.abc import Iterable


def share(parts: Iterable[memoryview]) -> int:
    """A descriptor of memory with these parts, one behind the other; the caller closes it."""
    descriptor = os.memfd_create("ocr", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for part in parts:
            _write(descriptor, part.cast("B"))
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def map_shared(descriptor: int) -> memoryview:
    """The memory of a descriptor, which may be closed then. What is written to it stays in this process.

    Raises:
        ValueError: it is not sealed, or empty.
    """
    if not fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
        raise ValueError("the memory is not sealed")
    return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY))


def _write(descriptor: int, part: memoryview) -> None:
    while part:
        part = part[os.write(descriptor, part) :]
