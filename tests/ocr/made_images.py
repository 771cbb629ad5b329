"""Small pictures in memory, and the files of every type made from them."""

import io
import struct
import zlib

import numpy as np
import pillow_heif
from PIL import Image

# Only to write HEIC: the gateway reads it with pi-heif, the same library without its encoder.
pillow_heif.register_heif_opener()

CORNERS = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))
"""RGB of the quarters of `quarters`: top left, top right, bottom left, bottom right."""


def quarters(height=32, width=48):
    """A picture whose four quarters have each a colour, so that every turn and flip of it shows: RGB."""
    colors = np.array(CORNERS, np.uint8).reshape(2, 2, 3)
    return colors.repeat(height // 2, axis=0).repeat(width // 2, axis=1)


def encode(pixels, file_type, mode=None, **options):
    """The file of RGB or grey `pixels`, in a Pillow mode."""
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    if mode is not None:
        picture = picture.convert(mode)
    if file_type == "HEIF" and "exif" in options:
        options["exif"] = options["exif"].tobytes()  # only from bytes does it derive the boxes that turn a picture
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()


def with_orientation(orientation):
    """EXIF data that say how the picture is stored."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(width, height):
    """A PNG that declares its size and has no pixels at all."""
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + png_chunk(b"IDAT", b"")
    )
