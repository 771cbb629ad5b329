"""Files that few programs write, so that no library here does."""

import struct
import zlib

import numpy as np
from made_images import encode, png_chunk
from PIL import Image

PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Adam7 (PNG, section 8.2): left, top, and the steps across and down."""

CODE_BITS = 4
"""Each class of differences gets a code of this length, its own number."""


def interlaced_png(pixels):
    """RGB (height, width, 3), in seven passes."""
    height, width, _ = pixels.shape
    passes = (pixels[top::down, left::across] for left, top, across, down in PASSES)
    rows = b"".join(b"\0" + row.tobytes() for part in passes if part.size for row in part)
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1))
        + png_chunk(b"IDAT", zlib.compress(rows))
        + png_chunk(b"IEND", b"")
    )


def ycck_jpeg(rgb):
    """RGB as Photoshop writes CMYK: inverted, its first three colours as luma and chroma, and without black."""
    ycc = Image.fromarray(255 - rgb).convert("YCbCr")
    planes = [plane.point(lambda value: 255 - value) for plane in ycc.split()]
    data = encode(Image.merge("CMYK", [*planes, Image.new("L", ycc.size, 0)]), "JPEG", quality=95, subsampling=0)
    transform = data.index(b"Adobe") + 11
    return data[:transform] + b"\2" + data[transform + 1 :]


def lossless_jpeg(pixels):
    """Grey (height, width) or RGB, each sample as its difference to its left neighbour (ITU-T T.81, annex H)."""
    planes = np.atleast_3d(pixels).astype(int)
    height, width, components = planes.shape
    numbers = range(1, components + 1)
    frame = struct.pack(">BHHB", 8, height, width, components) + b"".join(bytes([n, 0x11, 0]) for n in numbers)
    table = bytes([0]) + bytes(9 if length == CODE_BITS else 0 for length in range(1, 17)) + bytes(range(9))
    scan = bytes([components]) + b"".join(bytes([n, 0]) for n in numbers) + bytes([1, 0, 0])
    adobe = b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 0)
    segments = [(0xEE, adobe), (0xC3, frame), (0xC4, table), (0xDA, scan)]
    head = b"".join(struct.pack(">BBH", 0xFF, kind, len(body) + 2) + body for kind, body in segments)
    return b"\xff\xd8" + head + entropy_coded(differences(planes)) + b"\xff\xd9"


def differences(planes):
    """To the left neighbour; at the left edge to the upper one, and in the corner to the middle of the range."""
    left = np.empty_like(planes)
    left[:, 1:] = planes[:, :-1]
    left[1:, 0] = planes[:-1, 0]
    left[0, 0] = 128
    return (planes - left).ravel().tolist()


def entropy_coded(values):
    """The class of each difference, and its bits (T.81, tables H.2 and F.1)."""
    bits = []
    for value in values:
        size = abs(value).bit_length()
        bits.append(f"{size:0{CODE_BITS}b}")
        bits.append(f"{value if value > 0 else value + (1 << size) - 1:0{size}b}" if size else "")
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8).replace(b"\xff", b"\xff\0")
