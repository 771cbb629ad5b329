"""From encoded bytes to upright BGR pixels, as a person would see the picture.

The type is judged by its signature and the size by its header, both before any pixel is decoded. Pillow reads every
header and decodes everything but plain JPEGs, which OpenCV decodes to the same pixels in about half the time.
Orientation is applied here, once, for all formats: OpenCV is told to ignore it.
"""

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import cv2
import numpy as np
from cv2.typing import MatLike
from numpy.typing import NDArray
from PIL import ExifTags, ImageFile
from PIL import Image as Pillow

from gateway.arrays import Image
from gateway.errors import ImageTooLarge, UnreadableImage
from gateway.ocr.elements import PageWarning
from gateway.ocr.formats import identify

# What Pillow and OpenCV raise on damaged data; the warnings are raised where Python runs with -W error.
_DECODER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    RuntimeWarning,
    SyntaxError,
    TypeError,
    UserWarning,
    ValueError,
    cv2.error,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """What an image may declare.

    Attributes:
        max_pixels: width times height.
        max_side: width or height, in pixels.
    """

    max_pixels: int = 50_000_000
    max_side: int = 12_000


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """An image and where it came from.

    Attributes:
        image: uint8 (height, width, 3) in BGR, upright.
        format: name of the type, such as "JPEG".
        warnings: what of the data is not in the image.
    """

    image: Image
    format: str
    warnings: tuple[PageWarning, ...] = ()


def count_pixels(data: bytes, limits: DecodeLimits) -> int:
    """How many pixels the first picture in `data` will have, from its header; raises as `decode_image` would."""
    image_format = identify(data)
    with _decoder_errors(image_format.name, limits):
        width, height = image_format.plugin(io.BytesIO(data)).size
    _check_size(width, height, limits)
    return width * height


def decode_image(data: bytes, limits: DecodeLimits) -> DecodedImage:
    """Decode the first picture in `data`.

    Raises:
        UnsupportedImage: not a type that is served.
        ImageTooLarge: the header declares more than `limits` allows.
        UnreadableImage: truncated, corrupt, or without pixels.
    """
    image_format = identify(data)
    with _decoder_errors(image_format.name, limits):
        picture = image_format.plugin(io.BytesIO(data))
    _check_size(*picture.size, limits)
    with _decoder_errors(image_format.name, limits):
        plain_jpeg = image_format.name == "JPEG" and picture.mode in {"RGB", "L"}
        pixels = _decode_jpeg(data) if plain_jpeg else _decode_with_pillow(picture)
        upright = np.asarray(_TURNS[_orientation(picture)](pixels), np.uint8)
        count = image_format.count_pictures(picture, data)
    return DecodedImage(upright, image_format.name, _first_only(count))


@contextmanager
def _decoder_errors(name: str, limits: DecodeLimits) -> Iterator[None]:
    """Translate what the libraries raise; they guard some declared sizes themselves (a tile, a frame)."""
    try:
        yield
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ImageTooLarge(f"{error} The limit here is {_megapixels(limits.max_pixels)}.") from error
    except _DECODER_ERRORS as error:
        raise UnreadableImage(f"the {name} is truncated or corrupt: {error}") from error


def _check_size(width: int, height: int, limits: DecodeLimits) -> None:
    if width < 1 or height < 1:
        raise UnreadableImage(f"the image is {width} x {height} pixels: nothing to see")
    if width * height > limits.max_pixels or max(width, height) > limits.max_side:
        raise ImageTooLarge(
            f"the image is {width} x {height} pixels ({_megapixels(width * height)}); the limit is "
            f"{_megapixels(limits.max_pixels)} and {limits.max_side} pixels a side"
        )


def _megapixels(pixels: int) -> str:
    return f"{pixels / 1e6:.4g} MP"


def _decode_jpeg(data: bytes) -> Image:
    """Pixels (height, width, 3) as they are stored; OpenCV gives None for data that end too soon."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if pixels is None:
        raise ValueError("no picture in it")
    return np.asarray(pixels, np.uint8)


def _decode_with_pillow(picture: ImageFile.ImageFile) -> Image:
    """Pixels (height, width, 3) as they are stored, except TIFF's, which Pillow turns upright (and forgets the tag)."""
    picture.load()
    return _TO_BGR.get(picture.mode, _from_any)(picture)


def _from_any(picture: Pillow.Image) -> Image:
    """Grey, palette, colour, CMYK; with transparency, over white paper."""
    colour = _over_white(picture) if picture.has_transparency_data else _to_rgb(picture)
    return np.asarray(cv2.cvtColor(np.asarray(colour), cv2.COLOR_RGB2BGR), np.uint8)


def _to_rgb(picture: Pillow.Image) -> Pillow.Image:
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _over_white(picture: Pillow.Image) -> Pillow.Image:
    with_alpha = picture.convert("RGBA")
    paper = Pillow.new("RGB", picture.size, "white")
    paper.paste(with_alpha, mask=with_alpha.getchannel("A"))
    return paper


def _from_16_bits(picture: Pillow.Image) -> Image:
    return _from_grey((np.asarray(picture) >> 8).astype(np.uint8))


def _from_wide_range(picture: Pillow.Image) -> Image:
    """32-bit integers and floats have no agreed range: the darkest pixel becomes black, the brightest white."""
    values = np.nan_to_num(np.asarray(picture, np.float32))
    low, high = float(values.min()), float(values.max())
    return _from_grey(((values - low) * (255 / max(high - low, 1e-12))).astype(np.uint8))


def _from_grey(grey: NDArray[np.uint8]) -> Image:
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


_TO_BGR: dict[str, Callable[[Pillow.Image], Image]] = {
    "I;16": _from_16_bits,
    "I;16B": _from_16_bits,
    "I;16L": _from_16_bits,
    "I": _from_wide_range,
    "F": _from_wide_range,
}
"""From a Pillow mode to BGR, for modes that Pillow would clip rather than scale."""


def _orientation(picture: ImageFile.ImageFile) -> int:
    """The EXIF orientation, 1 to 8; 1, upright, where it is missing or damaged."""
    try:
        value = picture.getexif().get(ExifTags.Base.Orientation)
    except _DECODER_ERRORS:
        return 1
    return value if isinstance(value, int) and value in _TURNS else 1


_TURNS: dict[int, Callable[[Image], MatLike]] = {
    1: lambda pixels: pixels,
    2: lambda pixels: cv2.flip(pixels, 1),
    3: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_180),
    4: lambda pixels: cv2.flip(pixels, 0),
    5: cv2.transpose,
    6: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_90_CLOCKWISE),
    7: lambda pixels: cv2.flip(cv2.transpose(pixels), -1),
    8: lambda pixels: cv2.rotate(pixels, cv2.ROTATE_90_COUNTERCLOCKWISE),
}
"""What turns pixels upright, by EXIF orientation (EXIF 2.32, tag 0x0112)."""


def _first_only(count: int) -> tuple[PageWarning, ...]:
    if count == 1:
        return ()
    return (PageWarning("first_page_only", f"the file holds {count} pictures; only the first was read"),)
