"""From encoded bytes to upright BGR pixels, as a person would see the picture.

The type is judged by its signature and the size by its header, both before any pixel is decoded. Orientation is applied
here, once, for all types: the decoders are told to ignore it.
"""

from dataclasses import dataclass, replace

from PIL import ImageFile

from gateway.errors import ImageError
from gateway.ocr.decoding import gif, opencv, pdf, pillow, tiff
from gateway.ocr.decoding.aspect import square_pixels
from gateway.ocr.decoding.failures import decoder_errors
from gateway.ocr.decoding.formats import DOCUMENTS, FileType, identify
from gateway.ocr.decoding.limits import DecodeLimits, check_size
from gateway.ocr.decoding.orientation import UPRIGHT, is_turned, turn_upright
from gateway.ocr.decoding.picture import Decoded, FileInfo, Raw
from gateway.ocr.decoding.png import check_chunks
from gateway.ocr.elements import PageWarning, Picture
from gateway.ocr.options import DocumentOptions

DEFAULTS = DocumentOptions()

_DEEP_COLOUR = "RGB;16"
_PLAIN_TYPES = frozenset({FileType.JPEG, FileType.PNG, FileType.WEBP})
_PLAIN_MODES = frozenset({"RGB", "L"})
_MOST_SIZES = 500
"""Pages of a TIFF that are measured; whoever orders later ones holds as many pixels as a page may have."""

_PNG_BIT_DEPTH = 24
"""Where a PNG has it: in its first chunk, which must be IHDR."""


@dataclass(frozen=True, slots=True)
class OpenPicture:
    """A picture whose header has been read, and need not be read again to decode it.

    Attributes:
        data: of the file.
        picture: Pillow's, not decoded yet; it can be decoded once.
        info: what the header says.
    """

    data: bytes
    picture: ImageFile.ImageFile
    info: FileInfo


def open_picture(data: bytes, limits: DecodeLimits) -> OpenPicture:
    """Read the header of a file, of whose pictures the first counts. Raises as `inspect_file` does."""
    file_type = _identify_checked(data)
    with decoder_errors(file_type, limits):
        picture = pillow.open_picture(file_type, data)
    check_size(*picture.size, limits)
    return OpenPicture(data, picture, FileInfo(file_type, (picture.width * picture.height,)))


def decode_picture(opened: OpenPicture, limits: DecodeLimits) -> Decoded:
    """Decode it. Raises as `decode_page` does."""
    return _decode_opened(FileType(opened.info.file_type), opened.data, opened.data, opened.picture, limits)


def inspect_file(data: bytes, limits: DecodeLimits, options: DocumentOptions = DEFAULTS) -> FileInfo:
    """What the header of a file says; no pixel is decoded.

    Raises:
        UnsupportedImage: not a type that is served.
        UnreadableImage: no header of its type.
        ImageTooLarge: its only page is over the limits.
    """
    file_type = _identify_checked(data)
    with decoder_errors(file_type, limits):
        sizes, unmeasured = _page_sizes(file_type, data, limits, options)
    if len(sizes) == 1:
        check_size(*sizes[0], limits)
    known = (_pixels_within(width, height, limits) for width, height in sizes)
    return FileInfo(file_type, (*known, *[limits.max_pixels] * unmeasured))


def decode_page(data: bytes, limits: DecodeLimits, number: int = 1, options: DocumentOptions = DEFAULTS) -> Decoded:
    """Decode one page, which counts from 1.

    Raises:
        UnsupportedImage: not a type that is served.
        ImageTooLarge: the header declares more than `limits` allows.
        UnreadableImage: truncated, corrupt, or without pixels.
    """
    file_type = _identify_checked(data)
    if file_type is FileType.PDF:
        with decoder_errors(file_type, limits), pdf.opened(data) as document:
            return pdf.draw(document, number, limits, options)
    with decoder_errors(file_type, limits):
        page = _page_data(data, number)
        picture = pillow.open_picture(file_type, page)
    check_size(*picture.size, limits)
    return _decode_opened(file_type, data, page, picture, limits)


def _identify_checked(data: bytes) -> FileType:
    """The type; a PNG that would be slow to walk is refused here, before any decoder walks it."""
    file_type = identify(data)
    if file_type is FileType.PNG:
        check_chunks(data)
    return file_type


def _page_sizes(
    file_type: FileType, data: bytes, limits: DecodeLimits, options: DocumentOptions
) -> tuple[list[tuple[int, int]], int]:
    """(width, height) of pages, as they are stored or will be drawn; and how many more there are."""
    if file_type is FileType.PDF:
        with pdf.opened(data) as document:
            return pdf.page_sizes(document, limits, options), 0
    first = pillow.open_picture(file_type, data).size
    others = tiff.page_offsets(data)[1:] if file_type is FileType.TIFF else ()
    sizes = [first, *(tiff.page_size(data, offset) for offset in others[:_MOST_SIZES])]
    return sizes, len(others[_MOST_SIZES:])


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


def _decode_opened(
    file_type: FileType, data: bytes, page: bytes, picture: ImageFile.ImageFile, limits: DecodeLimits
) -> Decoded:
    """The picture of a page, whose header is open, of a file."""
    with decoder_errors(file_type, limits):
        stored = _describe(file_type, page, picture, frames=_count_frames(file_type, data, picture))
        return _decode(page, picture, stored, limits)


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
    raw = _raw(data, picture, stored)
    upright = turn_upright(raw.pixels, pillow.orientation_of(picture))
    image, stretched = square_pixels(upright, resolution, limits)
    return Decoded(image, replace(stored, paper=raw.paper), (*_first_only(stored), *raw.warnings, *stretched))


def _raw(data: bytes, picture: ImageFile.ImageFile, stored: Picture) -> Raw:
    """The pixels, from the decoder that is best at them, or else from Pillow, which also knows why there are none."""
    if stored.mode == _DEEP_COLOUR:
        return opencv.decode_deep(data) or pillow.decode(picture)
    plain = stored.mode in _PLAIN_MODES and stored.frames == 1 and not picture.has_transparency_data
    if not plain or stored.file_type not in _PLAIN_TYPES:
        return pillow.decode(picture)
    return opencv.decode_plain(data) or _lenient(pillow.decode(picture), stored)


def _lenient(raw: Raw, stored: Picture) -> Raw:
    """What one decoder made of data that another refuses."""
    detail = f"the {stored.file_type} is damaged; what could be decoded was read, and may be wrong in places"
    return replace(raw, warnings=(*raw.warnings, PageWarning("damaged", detail)))


def _first_only(stored: Picture) -> tuple[PageWarning, ...]:
    if stored.frames == 1 or stored.file_type in DOCUMENTS:
        return ()
    return (PageWarning("first_page_only", f"the file holds {stored.frames} pictures; only the first was read"),)
