"""Kinds of file, told from the data alone: the types that are served, and what people send by mistake.

File names and Content-Type headers are never asked: the one are wrong by accident, the others at will.
"""

from collections.abc import Callable
from enum import StrEnum

from gateway.errors import UnsupportedImage

_BMP_HEADER_SIZES = {12, 16, 40, 52, 56, 64, 108, 124}


class FileType(StrEnum):
    """The types that are served, as people call them."""

    JPEG = "JPEG"
    PNG = "PNG"
    WEBP = "WebP"
    BMP = "BMP"
    TIFF = "TIFF"
    GIF = "GIF"
    HEIC = "HEIC"
    AVIF = "AVIF"
    JPEG_2000 = "JPEG 2000"
    PNM = "PNM"
    PDF = "PDF"


DOCUMENTS = frozenset({FileType.TIFF, FileType.PDF})
"""Types with pages, which are all read; of the others' frames only the first is."""

ISOLATED = frozenset(FileType) - {FileType.JPEG, FileType.PNG, FileType.WEBP}
"""Types that are decoded in a process of their own: see docs/decisions/0019-decoder-processes.md."""


def identify(data: bytes) -> FileType:
    """The type of `data`.

    Raises:
        UnsupportedImage: it is of no served type; says what it looks like instead.
    """
    for file_type, recognises in _SIGNATURES.items():
        if recognises(data):
            return file_type
    raise UnsupportedImage(f"the data {_describe(data)}; these types are served: {', '.join(FileType)}")


def _describe(data: bytes) -> str:
    if not data:
        return "is empty"
    return next((f"looks like {name}" for name, test in _MISTAKES if test(data)), "is of no known image type")


def _starts(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(signatures)


def _has_brand(*brands: bytes) -> Callable[[bytes], bool]:
    """An ISO media file (ISO/IEC 14496-12) of one of these brands: the major one, or if that is general, any of them.

    The general brands say "an image" or "a sequence of images", and leave the codec to the others.
    """

    def recognises(data: bytes) -> bool:
        if data[4:8] != b"ftyp":
            return False
        box = data[8 : min(int.from_bytes(data[:4]), 256)]
        compatible = (box[at : at + 4] for at in range(8, len(box), 4))
        major = box[:4]
        return any(brand in brands for brand in ((major, *compatible) if major in (b"mif1", b"msf1") else (major,)))

    return recognises


def _mentions(*words: bytes) -> Callable[[bytes], bool]:
    return lambda data: any(word in data[:1024].lower() for word in words)


def _is_bmp(data: bytes) -> bool:
    """Two letters alone would claim many a text, so the size of the second header is looked at as well."""
    return data.startswith(b"BM") and int.from_bytes(data[14:18], "little") in _BMP_HEADER_SIZES


def _is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def _is_pnm(data: bytes) -> bool:
    """P and a digit would claim texts, too; white space or a comment follows it."""
    return data[:1] == b"P" and data[1:2] in {b"1", b"2", b"3", b"4", b"5", b"6"} and data[2:3] in b" \t\r\n#"


def _is_pdf(data: bytes) -> bool:
    """Readers accept anything before the header within the first kilobyte (ISO 32000-1, annex H.3.4.1)."""
    return b"%PDF-" in data[:1024]


def _is_text(data: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\r\n" for byte in data[:256])


_SIGNATURES: dict[FileType, Callable[[bytes], bool]] = {
    FileType.JPEG: _starts(b"\xff\xd8\xff"),
    # Four bytes of eight: the rest is there to be damaged by careless transfers, and then says so.
    FileType.PNG: _starts(b"\x89PNG"),
    FileType.WEBP: _is_webp,
    FileType.BMP: _is_bmp,
    FileType.TIFF: _starts(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    FileType.GIF: _starts(b"GIF87a", b"GIF89a"),
    FileType.AVIF: _has_brand(b"avif", b"avis"),
    FileType.HEIC: _has_brand(b"heic", b"heix", b"hevc", b"heim", b"heis"),
    FileType.JPEG_2000: _starts(b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"),
    FileType.PNM: _is_pnm,
    FileType.PDF: _is_pdf,
}

_MISTAKES: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("a video", lambda data: data[4:8] == b"ftyp"),
    ("a Photoshop file", _starts(b"8BPS")),
    ("an icon", _starts(b"\0\0\1\0", b"\0\0\2\0")),
    ("a ZIP archive or an Office document", _starts(b"PK\3\4", b"PK\5\6")),
    ("an old Office document", _starts(b"\xd0\xcf\x11\xe0")),
    ("a gzip archive", _starts(b"\x1f\x8b")),
    ("a PostScript file", _starts(b"%!PS")),
    ("a DjVu document", _starts(b"AT&TFORM")),
    ("a JPEG XL image", _starts(b"\xff\x0a", b"\0\0\0\x0cJXL ")),
    ("an HTML page", _mentions(b"<!doctype html", b"<html")),
    ("an SVG drawing", _mentions(b"<svg")),
    ("base64 text; it has to be decoded first", _starts(b"/9j/", b"iVBORw0KGgo", b"UklGR", b"JVBERi0", b"data:")),
    ("JSON", _starts(b"{", b"[")),
    ("an address; pictures are not fetched, so send the file's bytes", _starts(b"http://", b"https://")),
    ("plain text", _is_text),
)
