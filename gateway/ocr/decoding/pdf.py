"""PDF: pages are drawn by PDFium (pypdfium2), at a resolution that is asked for.

PDFium is not safe to use from two threads, so one file is opened at a time.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_uint

import numpy as np
import pypdfium2
from pypdfium2 import raw

from gateway.errors import ImageTooLarge, UnreadableImage
from gateway.ocr.decoding.limits import DecodeLimits, check_size, megapixels
from gateway.ocr.decoding.pdf_text import text_lines
from gateway.ocr.decoding.picture import Decoded
from gateway.ocr.elements import LayerLine, PageWarning, Picture
from gateway.ocr.options import DocumentOptions

POINTS_PER_INCH = 72

_LEAST_DPI = 50
"""A page that must be drawn coarser than this to fit the limits is refused: nobody could read it."""

_EMBEDDED_SHARE = 4
"""How many times the pixels of an image the pictures on a page may have together: scans of 1 bit have many."""

_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def opened(data: bytes) -> Iterator[pypdfium2.PdfDocument]:
    """The document.

    Raises:
        UnreadableImage: it wants a password, or has no page.
        PdfiumError: it is damaged.
    """
    with _ONE_AT_A_TIME, _document(data) as document:
        if not len(document):
            raise UnreadableImage("the PDF has no page")
        yield document


def page_sizes(
    document: pypdfium2.PdfDocument, limits: DecodeLimits, options: DocumentOptions
) -> list[tuple[int, int]]:
    """(width, height) in pixels of each page as it will be drawn."""
    sizes = (document.get_page_size(index) for index in range(len(document)))
    return [_size(points, choose_dpi(points, limits, options)) for points in sizes]


def draw(document: pypdfium2.PdfDocument, number: int, limits: DecodeLimits, options: DocumentOptions) -> Decoded:
    """One page, with what has been filled into its forms; blank if only its text is asked for.

    Raises:
        ImageTooLarge: the page, or the pictures on it, have more pixels than `limits` allows.
        PdfiumError: it is damaged.
    """
    document.init_forms()
    page = document[number - 1]
    dpi = choose_dpi(page.get_size(), limits, options)
    width, height = _size(page.get_size(), dpi)
    check_size(width, height, limits)
    picture = Picture("PDF", "RGB", width, height, len(document), turned=page.get_rotation() != 0)
    if options.text_layer == "only":
        image = np.full((height, width, 3), 255, np.uint8)
    else:
        _check_pictures(page, limits)
        image = page.render(scale=_scale(dpi), maybe_alpha=False).to_numpy().copy()
    return Decoded(image, picture, _coarser(dpi, options), _text_layer(page, (width, height), options))


def choose_dpi(points: tuple[float, float], limits: DecodeLimits, options: DocumentOptions) -> float:
    """The resolution that is asked for, or the one at which a page of this size is within the limits."""
    width, height = points
    area = width * height / POINTS_PER_INCH**2
    longest = max(width, height) / POINTS_PER_INCH
    most = min(math.sqrt(limits.max_pixels / max(area, 1e-9)), limits.max_side / max(longest, 1e-9))
    # A hair less, because sides are rounded up.
    return options.dpi if options.dpi <= most or most < _LEAST_DPI else 0.999 * most


@contextmanager
def _document(data: bytes) -> Iterator[pypdfium2.PdfDocument]:
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise UnreadableImage("the PDF is protected by a password; send it without one") from error
        raise
    with document:
        yield document


def _text_layer(page: pypdfium2.PdfPage, size: tuple[int, int], options: DocumentOptions) -> tuple[LayerLine, ...]:
    if options.text_layer == "ignore":
        return ()
    return tuple(text_lines(page, size, hidden=options.text_layer == "only"))


def _scale(dpi: float) -> float:
    """Pixels to the point; a hair less, for sizes are 32-bit floats, and 120.000004 pixels are not 121."""
    return 0.99999 * dpi / POINTS_PER_INCH


def _size(points: tuple[float, float], dpi: float) -> tuple[int, int]:
    """(width, height) in pixels of a page of this size."""
    return math.ceil(points[0] * _scale(dpi)), math.ceil(points[1] * _scale(dpi))


def _check_pictures(page: pypdfium2.PdfPage, limits: DecodeLimits) -> None:
    """Refuse a page whose pictures would be large when they are decoded, which their few bytes do not tell."""
    pixels = sum(map(_declared_pixels, page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE])))
    if pixels > _EMBEDDED_SHARE * limits.max_pixels:
        raise ImageTooLarge(
            f"the pictures on the page have {megapixels(pixels)}; "
            f"the limit is {megapixels(_EMBEDDED_SHARE * limits.max_pixels)}"
        )


def _declared_pixels(picture: pypdfium2.PdfImage) -> int:
    width, height = c_uint(), c_uint()
    raw.FPDFImageObj_GetImagePixelSize(picture, width, height)
    return width.value * height.value


def _coarser(dpi: float, options: DocumentOptions) -> tuple[PageWarning, ...]:
    if dpi == options.dpi:
        return ()
    detail = f"the page is so large that it was drawn with {dpi:.0f} pixels to the inch instead of {options.dpi}"
    return (PageWarning("resolution_reduced", detail),)
