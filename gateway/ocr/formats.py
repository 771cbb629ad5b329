"""Kinds of file, told from the data alone: the types that are served, and what people send by mistake.

File names and Content-Type headers are never asked: the one are wrong by accident, the others at will.
"""

import itertools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from gateway.errors import UnsupportedImage

# How far the pictures of a file are counted: crafted files link millions.
_MAX_TIFF_PAGES = 10_000
_MAX_GIF_BLOCKS = 1_000_000
_BMP_HEADER_SIZES = {12, 16, 40, 52, 56, 64, 108, 124}


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """A type that is served.

    Attributes:
        name: as people call it.
        plugin: the Pillow class that reads its header.
        recognises: whether data starts with its signature.
        count_pictures: how many pages or frames a file has, without decoding any.
    """

    name: str
    plugin: type[ImageFile.ImageFile]
    recognises: Callable[[bytes], bool]
    count_pictures: Callable[[ImageFile.ImageFile, bytes], int]


def identify(data: bytes) -> ImageFormat:
    """The format of `data`.

    Raises:
        UnsupportedImage: it is of no served type; says what it looks like instead.
    """
    for image_format in FORMATS:
        if image_format.recognises(data):
            return image_format
    served = ", ".join(image_format.name for image_format in FORMATS)
    raise UnsupportedImage(f"the data {_describe(data)}; these types are served: {served}")


def _describe(data: bytes) -> str:
    if not data:
        return "is empty"
    return next((f"looks like {name}" for name, test in _MISTAKES if test(data)), "is of no known image type")


def _starts(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(signatures)


def _has_brand(*brands: bytes) -> Callable[[bytes], bool]:
    """An ISO media file (ISO/IEC 14496-12) of one of these major brands."""
    return lambda data: data[4:8] == b"ftyp" and data[8:12] in brands


def _mentions(*words: bytes) -> Callable[[bytes], bool]:
    return lambda data: any(word in data[:1024].lower() for word in words)


def _is_bmp(data: bytes) -> bool:
    """Two letters alone would claim many a text, so the size of the second header is looked at as well."""
    return data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADER_SIZES


def _is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def _is_text(data: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\r\n" for byte in data[:256])


def _one(_image: ImageFile.ImageFile, _data: bytes) -> int:
    """JPEG and BMP have no pages; the second picture of a phone's JPEG is a depth map or the like."""
    return 1


def _declared(image: ImageFile.ImageFile, _data: bytes) -> int:
    """What the header says (PNG, WebP)."""
    return int(getattr(image, "n_frames", 1))


def count_tiff_pages(_image: ImageFile.ImageFile, data: bytes) -> int:
    """Length of the chain of image directories (TIFF 6.0, section 2; in BigTIFF the fields are wider)."""
    order = "<" if data[:2] == b"II" else ">"
    entries, link, entry_size, at = ("Q", "Q", 20, 8) if b"+" in data[2:4] else ("H", "I", 12, 4)
    seen: set[int] = set()
    try:
        (directory,) = struct.unpack_from(order + link, data, at)
        while directory and directory not in seen and len(seen) < _MAX_TIFF_PAGES:
            (count,) = struct.unpack_from(order + entries, data, directory)
            seen.add(directory)
            at = directory + struct.calcsize(order + entries) + entry_size * count
            (directory,) = struct.unpack_from(order + link, data, at)
    except struct.error:
        pass  # cut, or pointing outside: the chain ends here
    return max(1, len(seen))


def count_gif_frames(_image: ImageFile.ImageFile, data: bytes) -> int:
    """Image descriptors among the blocks (GIF89a, sections 18 to 26)."""
    frames = itertools.islice(_gif_blocks(data), _MAX_GIF_BLOCKS)
    return max(1, sum(introducer == ord(",") for introducer in frames))


def _gif_blocks(data: bytes) -> Iterator[int]:
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


FORMATS: tuple[ImageFormat, ...] = (
    ImageFormat("JPEG", JpegImagePlugin.JpegImageFile, _starts(b"\xff\xd8\xff"), _one),
    # Four bytes of eight: the rest is there to be damaged by careless transfers, and then says so.
    ImageFormat("PNG", PngImagePlugin.PngImageFile, _starts(b"\x89PNG"), _declared),
    ImageFormat("WebP", WebPImagePlugin.WebPImageFile, _is_webp, _declared),
    ImageFormat("BMP", BmpImagePlugin.BmpImageFile, _is_bmp, _one),
    ImageFormat(
        "TIFF",
        TiffImagePlugin.TiffImageFile,
        _starts(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
        count_tiff_pages,
    ),
    ImageFormat("GIF", GifImagePlugin.GifImageFile, _starts(b"GIF87a", b"GIF89a"), count_gif_frames),
)
"""The types that are served. A type is added here, and nowhere else."""

_MISTAKES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("a PDF", _mentions(b"%pdf-")),
    ("a HEIC photo", _has_brand(b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")),
    ("an AVIF image", _has_brand(b"avif", b"avis")),
    ("a video", lambda data: data[4:8] == b"ftyp"),
    ("a JPEG 2000 image", _starts(b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51")),
    ("a Photoshop file", _starts(b"8BPS")),
    ("an icon", _starts(b"\0\0\1\0", b"\0\0\2\0")),
    ("a ZIP archive or an Office document", _starts(b"PK\3\4", b"PK\5\6")),
    ("an old Office document", _starts(b"\xd0\xcf\x11\xe0")),
    ("a gzip archive", _starts(b"\x1f\x8b")),
    ("an HTML page", _mentions(b"<!doctype html", b"<html")),
    ("an SVG drawing", _mentions(b"<svg")),
    ("base64 text; it has to be decoded first", _starts(b"/9j/", b"iVBORw0KGgo", b"UklGR", b"data:image/")),
    ("JSON", _starts(b"{", b"[")),
    ("plain text", _is_text),
)
