"""The C library's allocator, told to keep some of what is freed (glibc; elsewhere nothing happens).

By default it asks the kernel for every block above 128 KiB anew and gives it back at once. Images, maps and lines are
such blocks: each page made some hundred of them, and a fifth of the time that cropping took went into the kernel's
zeroing of their pages. Larger blocks than `LARGEST_KEPT` still go back at once.
"""

import ctypes
import sys

LARGEST_KEPT = 16 << 20
"""Bytes: an image of five megapixels."""
MOST_KEPT = 32 << 20
"""Bytes at the end of each arena, of which there is one for each thread at the most."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Their numbers in malloc.h."""


def keep_freed_memory() -> bool:
    """Set it for this process; whether the C library could."""
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_THRESHOLD, LARGEST_KEPT) and mallopt(_TRIM_THRESHOLD, MOST_KEPT))
