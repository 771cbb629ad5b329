"""The chunks of a PNG, which its decoders do not bound.

A million tiny ones take seconds to walk, and for one that claims 4 GB OpenCV makes room before it looks for the data.
"""

import struct
from collections.abc import Iterator

from gateway.errors import UnreadableImage

_MOST = 10_000
"""Of all; encoders write pixels in chunks of 8 kB and more, so this allows for 80 MB."""

_MOST_OTHERS = 200
"""That hold no pixels: text, profiles, times. Common files have fewer than twenty, animations two for each frame."""

_SIGNATURE_BYTES = 8
_HEAD = struct.Struct(">I4s")
_CHECKSUM_BYTES = 4
_FRAMES = frozenset({b"IDAT", b"fcTL", b"fdAT"})


def check_chunks(data: bytes) -> None:
    """Refuse a PNG with too many chunks.

    Raises:
        UnreadableImage: it has.
    """
    others = 0
    for before, (kind, _) in enumerate(_chunks(data)):
        others += kind not in _FRAMES
        if before >= _MOST or others > _MOST_OTHERS:
            raise UnreadableImage(f"the PNG has more than {before} chunks, {others} of them without pixels")


def is_cut_off(data: bytes) -> bool:
    """Whether a PNG ends in the middle of a chunk."""
    return any(end > len(data) for _, end in _chunks(data))


def _chunks(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The kind of each chunk, and where it ends; without those that may follow the last one."""
    at, kind = _SIGNATURE_BYTES, b""
    while at + _HEAD.size <= len(data) and kind != b"IEND":
        length, kind = _HEAD.unpack_from(data, at)
        at += _HEAD.size + length
        yield kind, at
        at += _CHECKSUM_BYTES
