"""From encoded bytes to upright BGR pixels, as a person would see the picture.

The type is judged by its signature and the size by its header, both before any pixel is decoded. Orientation is applied
here, once, for all types: the decoders are told to ignore it.
"""

from dataclasses import replace

from PIL import ImageFile

from gateway.errors import ImageError
from gateway.ocr.decoding import gif, opencv, pillow, tiff
from gateway.ocr.decoding.aspect import square_pixels
from gateway.ocr.decoding.failures import decoder_errors
from gateway.ocr.decoding.formats import FileType, identify
from gateway.ocr.decoding.limits import DecodeLimits, check_size
from gateway.ocr.decoding.orientation import UPRIGHT, is_turned, turn_upright
from gateway.ocr.decoding.picture import Decoded, FileInfo, Raw
from gateway.ocr.elements import PageWarning, Picture

_DEEP_COLOUR = "RGB;16"
_PLAIN_TYPES = frozenset({FileType.JPEG, FileType.PNG, FileType.WEBP})
_PLAIN_MODES = frozenset({"RGB", "L"})
_PNG_BIT_DEPTH = 24
"""Where a PNG has it: in its first chunk, which must be IHDR."""


def inspect_file(data: bytes, limits: DecodeLimits) -> FileInfo:
    """What the header of a file says; no pixel is decoded.

    Raises:
        UnsupportedImage: not a type that is served.
        UnreadableImage: no header of its type.
        ImageTooLarge: its only page is over the limits.
    """
    file_type = identify(data)
    with decoder_errors(file_type, limits):
        sizes = _page_sizes(file_type, data)
    if len(sizes) == 1:
        check_size(*sizes[0], limits)
    return FileInfo(file_type, tuple(_pixels_within(width, height, limits) for width, height in sizes))


def decode_page(data: bytes, limits: DecodeLimits, number: int = 1) -> Decoded:
    """Decode one page, which counts from 1.

    Raises:
        UnsupportedImage: not a type that is served.
        ImageTooLarge: the header declares more than `limits` allows.
        UnreadableImage: truncated, corrupt, or without pixels.
    """
    file_type = identify(data)
    with decoder_errors(file_type, limits):
        page = _page_data(data, number)
        picture = pillow.open_picture(file_type, page)
    check_size(*picture.size, limits)
    with decoder_errors(file_type, limits):
        stored = _describe(file_type, page, picture, frames=_count_frames(file_type, data, picture))
        return _decode(page, picture, stored, limits)


def _page_sizes(file_type: FileType, data: bytes) -> list[tuple[int, int]]:
    """(width, height) of each page, as they are stored."""
    first = pillow.open_picture(file_type, data).size
    others = tiff.page_offsets(data)[1:] if file_type is FileType.TIFF else ()
    return [first, *(tiff.page_size(data, offset) for offset in others)]


def _pixels_within(width: int, height: int, limits: DecodeLimits) -> int:
    try:
        check_size(width, height, limits)
    except ImageError:
        return 0
    return width * height


def _page_data(data: bytes, number: int) -> bytes:
    """A file whose first page is that one; of several pages, it is a TIFF."""
    return data if number == 1 else tiff.with_first(data, tiff.page_offsets(data)[number - 1])


def _count_frames(file_type: FileType, data: bytes, picture: ImageFile.ImageFile) -> int:
    if file_type is FileType.TIFF:
        return max(1, len(tiff.page_offsets(data)))
    return gif.count_frames(data) if file_type is FileType.GIF else pillow.count_frames(picture)


def _describe(file_type: FileType, data: bytes, picture: ImageFile.ImageFile, *, frames: int) -> Picture:
    """What a header says of its picture."""
    mode = _DEEP_COLOUR if _has_deep_colour(file_type, data, picture) else picture.mode
    return Picture(file_type, mode, *picture.size, frames, turned=is_turned(pillow.stored_orientation(picture)))


def _has_deep_colour(file_type: FileType, data: bytes, picture: ImageFile.ImageFile) -> bool:
    """Whether the colours have 16 bits each, and OpenCV should be asked for them."""
    if picture.mode != "RGB" or picture.has_transparency_data:
        return False
    if file_type is FileType.TIFF:
        # OpenCV turns some TIFFs by itself, and others not.
        return pillow.bits_per_sample(picture) == (16, 16, 16) and pillow.orientation_of(picture) == UPRIGHT
    return file_type is FileType.PNG and data[_PNG_BIT_DEPTH] == 16


def _decode(data: bytes, picture: ImageFile.ImageFile, stored: Picture, limits: DecodeLimits) -> Decoded:
    """The picture behind a header that has been checked."""
    resolution = pillow.resolution_of(picture)
    raw = _decode_with_opencv(data, picture, stored) or pillow.decode(picture)
    upright = turn_upright(raw.pixels, pillow.orientation_of(picture))
    image, stretched = square_pixels(upright, resolution, limits)
    return Decoded(image, replace(stored, paper=raw.paper), (*_first_only(stored.frames), *raw.warnings, *stretched))


def _decode_with_opencv(data: bytes, picture: ImageFile.ImageFile, stored: Picture) -> Raw | None:
    """What OpenCV decodes best; None if that is Pillow's, which also knows why a file can't be decoded."""
    if stored.mode == _DEEP_COLOUR:
        return opencv.decode_deep(data)
    plain = stored.mode in _PLAIN_MODES and stored.frames == 1 and not picture.has_transparency_data
    return opencv.decode_plain(data) if plain and stored.file_type in _PLAIN_TYPES else None


def _first_only(frames: int) -> tuple[PageWarning, ...]:
    if frames == 1:
        return ()
    return (PageWarning("first_page_only", f"the file holds {frames} pictures; only the first was read"),)
