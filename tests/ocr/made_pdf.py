"""PDFs written by hand, object by object (ISO 32000-1)."""

import zlib

import numpy as np


def pdf_with(content, *, size=(100, 100), rotate=0, picture=None, field=None):
    """One page with this content; /F is Helvetica.

    `picture` is called /X: grey pixels, or how many white ones. `field` is the text of a form's field, drawn by its
    appearance.
    """
    appearance = b"BT /F 20 Tf 10 20 Td (" + (field or "").encode() + b") Tj ET"
    width, height = size
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [7 0 R] /DR << /Font << /F 5 0 R >> >> >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents 4 0 R /Annots [7 0 R] "
        b"/Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>" % (width, height, rotate),
        stream(b"", content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        grey_picture(picture) if isinstance(picture, np.ndarray) else white_picture(*(picture or (1, 1))),
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f) /V (" + (field or "").encode() + b") "
        b"/Rect [0 0 90 50] /P 3 0 R /F 4 /DA (/F 20 Tf) /AP << /N 8 0 R >> >>",
        stream(b"/Type /XObject /Subtype /Form /BBox [0 0 90 50] /Resources << /Font << /F 5 0 R >> >>", appearance),
    ]
    return written(objects)


def white_picture(width, height):
    """A picture of 1 bit a pixel, all white, in as few bytes as deflate allows."""
    deflate = zlib.compressobj(9)
    row = b"\xff" * ((width + 7) // 8)
    data = b"".join([*(deflate.compress(row) for _ in range(height)), deflate.flush()])
    head = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 1 "
    return stream(head % (width, height) + b"/Filter /FlateDecode", data)


def grey_picture(pixels):
    """The pixels (height, width), 8 bits each."""
    height, width = pixels.shape
    head = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 "
    return stream(head % (width, height) + b"/Filter /FlateDecode", zlib.compress(pixels.tobytes()))


def stream(head, data):
    return b"<< " + head + b" /Length %d >>\nstream\n" % len(data) + data + b"\nendstream"


def written(objects):
    """The file of these objects, the first of which is the catalogue."""
    data = b"%PDF-1.7\n"
    offsets = []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n" % number + text + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(data)
    size = len(objects) + 1
    return (
        data
        + b"xref\n0 %d\n0000000000 65535 f \n" % size
        + table
        + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)
    )
