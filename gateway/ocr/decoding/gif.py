"""The frames of a GIF, without decoding any."""

import itertools
from collections.abc import Iterator

_MAX_BLOCKS = 1_000_000
"""How far they are counted: crafted files link millions."""


def count_frames(data: bytes) -> int:
    """Image descriptors among the blocks (GIF89a, sections 18 to 26)."""
    frames = itertools.islice(_blocks(data), _MAX_BLOCKS)
    return max(1, sum(introducer == ord(",") for introducer in frames))


def _blocks(data: bytes) -> Iterator[int]:
    """The introducer of each block, followed by a zero for each of its sub-blocks."""
    try:
        at = 13 + _palette_bytes(data[10])
        while data[at] in b"!,":
            yield data[at]
            at += 11 + _palette_bytes(data[at + 9]) if data[at] == ord(",") else 2
            while data[at]:
                yield 0
                at += 1 + data[at]
            at += 1
    except IndexError:
        return  # cut in the middle of a block


def _palette_bytes(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0
