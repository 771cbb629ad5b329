"""Pillow's part: every header, and the pixels of what OpenCV is not asked for. HEIC is decoded by libheif (pi-heif)."""

import io
from collections.abc import Callable

import cv2
import numpy as np
import pi_heif
from numpy.typing import NDArray
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    ImageFile,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)
from PIL import Image as Pillow

from gateway.arrays import Image
from gateway.ocr.decoding.depth import depth_warnings, from_16_bits, from_any_range
from gateway.ocr.decoding.failures import DECODER_ERRORS
from gateway.ocr.decoding.formats import FileType
from gateway.ocr.decoding.orientation import UPRIGHT
from gateway.ocr.decoding.paper import paper_warnings, put_on_paper
from gateway.ocr.decoding.picture import Raw

_PLUGINS: dict[FileType, Callable[[io.BytesIO], ImageFile.ImageFile]] = {
    FileType.JPEG: JpegImagePlugin.JpegImageFile,
    FileType.PNG: PngImagePlugin.PngImageFile,
    FileType.WEBP: WebPImagePlugin.WebPImageFile,
    FileType.BMP: BmpImagePlugin.BmpImageFile,
    FileType.TIFF: TiffImagePlugin.TiffImageFile,
    FileType.GIF: GifImagePlugin.GifImageFile,
    FileType.HEIC: pi_heif.HeifImageFile,
    FileType.AVIF: AvifImagePlugin.AvifImageFile,
    FileType.JPEG_2000: Jpeg2KImagePlugin.Jpeg2KImageFile,
    FileType.PNM: PpmImagePlugin.PpmImageFile,
}

# Parallelism comes from requests, not from within one.
pi_heif.options.DECODE_THREADS = 1
AvifImagePlugin.DEFAULT_MAX_THREADS = 1

_DEEP_GREY = frozenset({"I;16", "I;16B", "I;16L", "I;16N", "I", "F"})
_LYING = frozenset({5, 6, 7, 8})
"""Orientations in which rows are stored as columns."""


def open_picture(file_type: FileType, data: bytes) -> ImageFile.ImageFile:
    """The header of a file; no pixel is decoded. Raises whatever Pillow does on damaged data."""
    return _PLUGINS[file_type](io.BytesIO(data))


def decode(picture: ImageFile.ImageFile) -> Raw:
    """The pixels as they are stored, except TIFF's, which Pillow turns upright (and forgets the tag)."""
    picture.load()
    if picture.mode in _DEEP_GREY:
        return _deep_grey(np.asarray(picture))
    if picture.has_transparency_data:
        pixels, paper = put_on_paper(picture)
        return Raw(pixels, paper, paper_warnings(paper))
    return Raw(_opaque(picture))


def _deep_grey(samples: NDArray[np.number]) -> Raw:
    """Whole numbers of 16 bits may stand in 32 (PNM)."""
    whole = np.issubdtype(samples.dtype, np.integer)
    if not whole or samples.min() < 0 or samples.max() >= 1 << 16:
        return Raw(from_any_range(samples))
    deep = samples.astype(np.uint16)
    return Raw(from_16_bits(deep), warnings=depth_warnings(deep))


def _opaque(picture: Pillow.Image) -> Image:
    """Grey, palette, colour and CMYK, whose inversion by Adobe Pillow knows."""
    colour = picture if picture.mode == "RGB" else picture.convert("RGB")
    return np.asarray(cv2.cvtColor(np.asarray(colour), cv2.COLOR_RGB2BGR), np.uint8)


def orientation_of(picture: ImageFile.ImageFile) -> int:
    """How the pixels stand, 1 to 8 (EXIF 2.32, tag 0x0112); upright where the metadata are missing or damaged."""
    try:
        value = picture.getexif().get(ExifTags.Base.Orientation)
    except DECODER_ERRORS:
        return UPRIGHT
    return value if isinstance(value, int) else UPRIGHT


def stored_orientation(picture: ImageFile.ImageFile) -> int:
    """How they stood before libheif turned them, who does that by itself; of other types the same."""
    return picture.info.get("original_orientation") or orientation_of(picture)


def resolution_of(picture: ImageFile.ImageFile) -> tuple[float, float] | None:
    """Pixels to the inch, across and down, of a TIFF that says so; other types rarely mean what they say."""
    dpi = picture.info.get("dpi")
    if not isinstance(picture, TiffImagePlugin.TiffImageFile) or dpi is None:
        return None
    across, down = map(float, dpi)
    return (down, across) if orientation_of(picture) in _LYING else (across, down)


def bits_per_sample(picture: ImageFile.ImageFile) -> tuple[int, ...]:
    """Of a TIFF."""
    assert isinstance(picture, TiffImagePlugin.TiffImageFile)
    bits = picture.tag_v2.get(TiffImagePlugin.BITSPERSAMPLE, ())
    return tuple(bits) if isinstance(bits, tuple) else (bits,)


def count_frames(picture: ImageFile.ImageFile) -> int:
    """The pictures that a header declares (PNG, WebP, AVIF, HEIC); one where a type has no more.

    The second picture of a phone's JPEG is a depth map or the like, and not counted.
    """
    return int(getattr(picture, "n_frames", 1))
