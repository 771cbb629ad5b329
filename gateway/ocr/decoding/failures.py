"""The border to the decoders: whatever they raise on damaged data becomes one of our errors."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import cv2
from PIL import Image as Pillow

from gateway.errors import ImageTooLarge, UnreadableImage
from gateway.ocr.decoding.limits import DecodeLimits, megapixels

DECODER_ERRORS = (
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
"""What they raise; the warnings are raised where Python runs with -W error."""


@contextmanager
def decoder_errors(file_type: str, limits: DecodeLimits) -> Iterator[None]:
    """Translate what the libraries raise; they guard some declared sizes themselves (a tile, a frame).

    Raises:
        ImageTooLarge: such a size is too large.
        UnreadableImage: everything else.
    """
    try:
        yield
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise ImageTooLarge(f"{error} The limit here is {megapixels(limits.max_pixels)}.") from error
    except DECODER_ERRORS as error:
        raise UnreadableImage(f"the {file_type} is truncated or corrupt: {error}") from error
