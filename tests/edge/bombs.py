"""Small requests that ask for a lot, and the problem that each of them should be."""

import io
import struct
import zlib
from dataclasses import dataclass
from functools import cache

import pillow_heif
from PIL import Image

pillow_heif.register_heif_opener()

SIDE = 32_000


@dataclass(frozen=True)
class Bomb:
    """A body, and the codes of the problems that it may be; an empty one is a success."""

    name: str
    body: bytes
    codes: tuple[str, ...]
    content_type: str = "application/octet-stream"


@cache
def bombs():
    """All of them."""
    large, broken = ("image_too_large",), ("unreadable_image",)
    return [
        Bomb("PNG of 32,000 x 32,000 white pixels", png(SIDE, SIDE, bits=1), large),
        Bomb("PNG that says 10 x 10 and goes on for 30 MB", png(10, 10, rows=300_000), ("", *broken)),
        Bomb("PNG that says 2^31 - 1 pixels a side", png(2**31 - 1, 2**31 - 1, rows=0), large),
        Bomb("PNG with 10,000 chunks of text", png(10, 10, before=png_chunk(b"tEXt", b"a\0b") * 10_000), broken),
        Bomb("PNG in 100,000 pieces", png(10, 10, before=png_chunk(b"IDAT", b"") * 100_000), broken),
        Bomb("PNG with a chunk that says 4 GB", png(10, 10, before=b"\xff\xff\x09\x23IDAT"), ("", *broken)),
        Bomb("PNG with a profile of 60 MB", png(10, 10, before=profile(60_000_000)), ("", *broken)),
        Bomb("GIF of 65,535 pixels a side", gif(65_535, 65_535), large),
        Bomb("GIF whose frame is larger than its screen", gif(10, 10, frame=(65_535, 65_535)), large),
        Bomb("GIF of 10,000 frames", gif(10, 10, frames=10_000), ("", *broken)),
        Bomb("WebP of 16,383 pixels a side", webp(16_383, 16_383), large),
        Bomb("TIFF of 100,000 pixels a side", tiff(100_000, 100_000), large),
        Bomb("TIFF of 10,000 pages of 60 megapixels", tiff(8_000, 7_500, pages=10_000), broken),
        Bomb("TIFF of 2,000 pages of 60 megapixels", tiff(8_000, 7_500, pages=2_000), ("too_many_pages",)),
        Bomb("BMP of 2^31 - 1 pixels a side", bmp(2**31 - 1, 2**31 - 1), large),
        Bomb("PNM of 99,999 pixels a side", b"P6 99999 99999 255\n", large),
        Bomb("JPEG of 65,535 pixels a side", jpeg(65_535, 65_535), large),
        Bomb("JPEG 2000 of 2^31 - 1 pixels a side", jpeg_2000(2**31 - 1, 2**31 - 1), (*large, *broken)),
        Bomb("HEIC of 65,535 pixels a side", iso_media("HEIF", 65_535, 65_535), (*large, *broken)),
        Bomb("AVIF of 65,535 pixels a side", iso_media("AVIF", 65_535, 65_535), (*large, *broken)),
        Bomb("PDF with a page of 14,400 inches", pdf(b"", box=14_400 * 72), large),
        Bomb("PDF with a picture of 32,000 pixels a side", pdf(b"/X Do", picture=SIDE), large),
        Bomb("PDF whose pages are each other's children", pdf(b"", kids=b"2 0 R"), (*large, *broken)),
        Bomb("PDF that says it has a million pages", pdf(b"", count=1_000_000), ("too_many_pages", *broken)),
        Bomb("10,000 parts", multipart(10_000), ("invalid_request",), MULTIPART),
        Bomb(
            "a part with a header of 1 MB",
            multipart(1, header=b"X: " + b"y" * 1_000_000),
            ("invalid_request",),
            MULTIPART,
        ),
        Bomb("parts in parts in parts", nested(1_000), ("unsupported_image",), MULTIPART),
        Bomb("lists in lists in lists", b'{"image": ' + b"[" * 100_000, ("invalid_request",), "application/json"),
        Bomb(
            "a JSON body of a million lists",
            b'{"images": [' + b"[]," * 300_000,
            ("invalid_request",),
            "application/json",
        ),
    ]


@cache
def slow_bombs():
    """PDFs whose cost no header tells: they are stopped by the limits of the process that draws them, or are drawn."""
    any_end = ("", "decoder_failed", "image_too_large", "unreadable_image")
    return [
        Bomb("content of 4 GB", pdf(repeated(b"q Q ", 4_000_000_000), filtered=True), any_end),
        Bomb("ten million rectangles", pdf(repeated(b"0 0 9 9 re f ", 130_000_000), filtered=True), any_end),
        Bomb("forms that draw forms, 2^40 times", pdf(b"/X Do", forms=40), any_end),
        Bomb("a form that draws itself", pdf(b"/X Do", forms=1, loop=True), any_end),
        Bomb("a million nested states", pdf(repeated(b"q ", 2_000_000), filtered=True), any_end),
        Bomb("a million nested arrays", pdf(b"[" * 1_000_000), any_end),
        Bomb("a million operands", pdf(b"1 " * 1_000_000 + b"m"), any_end),
        Bomb("a tree of pages of 100,000 levels", pdf(b"", levels=100_000), any_end),
        Bomb("a page box of 1e38 points", pdf(b"", box=10**38), any_end),
        Bomb("a pattern of a million tiles", pdf(TILED, pattern=True, box=2000), any_end),
        Bomb("streams packed in ten layers", pdf(layered(), layers=10), any_end),
    ]


MULTIPART = "multipart/form-data; boundary=edge"


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *, rows=None, bits=8, before=b""):
    """Grey; with so many rows of white pixels, whatever its header says."""
    row = b"\0" + b"\xff" * (width * bits // 8) if width < 100_000 else b""
    data = deflated(row, height if rows is None else rows)
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0))
        + before
        + png_chunk(b"IDAT", data)
        + png_chunk(b"IEND", b"")
    )


def profile(size):
    return png_chunk(b"iCCP", b"p\0\0" + deflated(bytes(1000), size // 1000))


def deflated(piece, times):
    deflate = zlib.compressobj(9)
    return b"".join([*(deflate.compress(piece) for _ in range(times)), deflate.flush()])


def gif(width, height, *, frame=None, frames=1):
    frame = frame or (width, height)
    pixels = b"," + struct.pack("<HHHHB", 0, 0, *frame, 0) + b"\x02\x02\x4c\x01\0"
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6) + pixels * frames + b";"


def webp(width, height):
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "WEBP", lossless=True)
    data = bytearray(file.getvalue())
    # 14 bits each of width and height, less one, stand behind the signature of the lossless format.
    data[21:25] = ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
    return bytes(data)


def tiff(width, height, *, pages=1):
    """Pages without a single byte of pixels."""
    entries = (
        (256, 4, width),
        (257, 4, height),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, height),
        (279, 4, 10),
    )
    size = 2 + 12 * len(entries) + 4
    data = b"II*\0" + struct.pack("<I", 8)
    for page in range(pages):
        following = 0 if page == pages - 1 else 8 + size * (page + 1)
        fields = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
        data += struct.pack("<H", len(entries)) + fields + struct.pack("<I", following)
    return data


def bmp(width, height):
    return (
        b"BM"
        + struct.pack("<IHHI", 100, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    )


def jpeg(width, height):
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG")
    data = bytearray(file.getvalue())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def jpeg_2000(width, height):
    file = io.BytesIO()
    Image.new("RGB", (16, 16)).save(file, "JPEG2000")
    return file.getvalue().replace(struct.pack(">II", 16, 16), struct.pack(">II", height, width))


def iso_media(file_type, width, height):
    """A picture whose properties say that it has another size."""
    file = io.BytesIO()
    Image.new("RGB", (64, 64)).save(file, file_type)
    return file.getvalue().replace(
        b"ispe\0\0\0\0" + struct.pack(">II", 64, 64), b"ispe\0\0\0\0" + struct.pack(">II", width, height)
    )


TILED = b"/Pattern cs /P scn 0 0 2000 2000 re f"


def repeated(piece, size):
    """So many bytes of a piece, deflated once; the blocks know nothing of each other, so the rest is copied."""
    block = piece * 100_000
    deflate = zlib.compressobj(9)
    first, other = (deflate.compress(block) + deflate.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + other * (size // len(block) - 1)


def layered():
    """Zeros, deflated ten times over."""
    data = repeated(b"\0", 1_000_000_000)
    for _ in range(9):
        data = zlib.compress(data, 9)
    return data


def forms_drawing_forms(depth, *, loop):
    """Objects from number 6 on; each but the last draws the next one twice."""
    objects = []
    for number in range(6, 6 + depth):
        last = number == 5 + depth
        content = b"0 0 1 1 re f" if last and not loop else b"/X Do /X Do"
        following = number if loop else number + (not last)
        head = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>" % following
        objects.append(b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head, len(content), content))
    return objects


def pages_in_pages(levels):
    """Objects from number 6 on, each the only child of the one before; the last leads to the page."""
    return [
        b"<< /Type /Pages /Count 1 /Kids [%d 0 R] /Parent %d 0 R >>"
        % (number + 1 if number < 5 + levels else 3, number - 1 if number > 6 else 2)
        for number in range(6, 6 + levels)
    ]


def tiny_tiles():
    head = (
        b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 2 2] /XStep 2 /YStep 2 /Resources << >>"
    )
    content = b"0 0 1 1 re f"
    return [b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head, len(content), content)]


def pdf(
    content,
    *,
    box=100,
    picture=1,
    kids=b"3 0 R",
    count=1,
    filtered=False,
    layers=0,
    forms=0,
    loop=False,
    levels=0,
    pattern=False,
):
    row = b"\xff" * ((picture + 7) // 8)
    filters = b"/Filter [%s]" % (b"/FlateDecode " * (layers or filtered)) if layers or filtered else b""
    more = forms_drawing_forms(forms, loop=loop) + pages_in_pages(levels) + (tiny_tiles() if pattern else [])
    kids = b"6 0 R" if levels else kids
    drawn = b"6 0 R" if forms else b"5 0 R"
    patterns = b"/Pattern << /P 6 0 R >>" if pattern else b""
    pixels = deflated(row, picture)
    head = b"/Type /XObject /Subtype /Image /Width %d /Height %d /Filter /FlateDecode "
    head += b"/ColorSpace /DeviceGray /BitsPerComponent 1"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 4 0 R " % (box, box)
        + b"/Resources << /XObject << /X %s >> %s >> >>" % (drawn, patterns),
        b"<< %s /Length %d >>\nstream\n%s\nendstream" % (filters, len(content), content),
        b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head % (picture, picture), len(pixels), pixels),
        *more,
    ]
    data, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(data))
    return bytes(data) + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def multipart(parts, *, header=b""):
    head = b'Content-Disposition: form-data; name="x"' + (b"\r\n" + header if header else b"")
    return (b"--edge\r\n" + head + b"\r\n\r\n1\r\n") * parts + b"--edge--\r\n"


def nested(depth):
    inner = b"".join(
        b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (level, level + 1) for level in range(depth)
    )
    return b'--edge\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + inner + b"\r\n--edge--\r\n"
