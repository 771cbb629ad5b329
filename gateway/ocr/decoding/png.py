"""The number of chunks in a PNG, which its decoders do not bound: a million tiny ones take seconds to walk."""

import struct

from gateway.errors import UnreadableImage

_MOST = 10_000
"""Of all; encoders write pixels in chunks of 8 kB and more, so this allows for 80 MB."""

_MOST_OTHERS = 200
"""That hold no pixels: text, profiles, times. Common files have fewer than twenty, animations two for each frame."""

_SIGNATURE_BYTES = 8
_HEAD = struct.Struct(">I4s")
_FRAMES = frozenset({b"IDAT", b"fcTL", b"fdAT"})


def check_chunks(data: bytes) -> None:
    """Refuse a PNG with too many chunks.

    Raises:
        UnreadableImage: it has.
    """
    chunks = others = 0
    at = _SIGNATURE_BYTES
    while at + _HEAD.size <= len(data):
        length, kind = _HEAD.unpack_from(data, at)
        chunks += 1
        others += kind not in _FRAMES
        if chunks > _MOST or others > _MOST_OTHERS:
            raise UnreadableImage(f"the PNG has more than {chunks - 1} chunks, {others} of them without pixels")
        at += length + 12  # its own length, name and checksum
