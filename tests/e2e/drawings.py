"""One drawing of text, and the files that hold it in different ways."""

import io

import numpy as np
import pillow_heif
from PIL import Image
from rendered_pages import page

TEXT = "Invoice 2026\nTotal 48.00"
WHITE, BLACK = (255, 255, 255), (0, 0, 0)

# Only to write HEIC; the gateway reads it with pi-heif.
pillow_heif.register_heif_opener()


def drawing():
    """The text in black on white, RGB."""
    grey = page(TEXT.splitlines(), width=420, height=160, size=32, step=60).convert("L")
    return grey.point(lambda value: 255 if value > 200 else value).convert("RGB")


def file_of(picture, file_type, *, orientation=None, **options):
    """The file of a picture, in a quality that keeps the text; `orientation` goes into its metadata."""
    if orientation is not None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif.tobytes() if file_type == "HEIF" else exif
    if file_type in ("JPEG", "WEBP", "HEIF", "AVIF"):
        options.setdefault("quality", 95)
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()


def stored_as(orientation):
    """The drawing as a file with that orientation stores it."""
    back = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    return drawing() if orientation == 1 else drawing().transpose(back[orientation])


def glyphs(color, *, under):
    """The text in one colour on nothing, RGBA; `under` is the colour that lies under the transparency."""
    ink = 255 - np.asarray(drawing().convert("L"))
    pixels = np.zeros((*ink.shape, 4), np.uint8)
    pixels[..., :3] = np.where(ink[..., None] > 0, color, under)
    pixels[..., 3] = ink
    return Image.fromarray(pixels)


def sixteen_bits(bits):
    """Grey samples of so many bits, in 16."""
    return Image.fromarray(np.asarray(drawing().convert("L")).astype(np.uint16) << (bits - 8))


def grey_alpha():
    ink = Image.fromarray(255 - np.asarray(drawing().convert("L")))
    return Image.merge("LA", [Image.new("L", ink.size, 0), ink])


def transparent_palette():
    palette = drawing().convert("L").point(lambda value: value // 128).convert("P")
    palette.putpalette([0, 0, 0, 0, 0, 0])
    return palette


MODES = {
    "RGB": lambda: file_of(drawing(), "PNG"),
    "grey": lambda: file_of(drawing().convert("L"), "PNG"),
    "1-bit": lambda: file_of(drawing().convert("1", dither=Image.Dither.NONE), "PNG"),
    "palette": lambda: file_of(drawing().convert("P"), "PNG"),
    "palette with transparency": lambda: file_of(transparent_palette(), "PNG", transparency=1),
    "GIF with transparency": lambda: file_of(transparent_palette(), "GIF", transparency=1),
    "black on nothing, over black": lambda: file_of(glyphs(BLACK, under=BLACK), "PNG"),
    "black on nothing, over white": lambda: file_of(glyphs(BLACK, under=WHITE), "PNG"),
    "white on nothing, over black": lambda: file_of(glyphs(WHITE, under=BLACK), "PNG"),
    "white on nothing, over white": lambda: file_of(glyphs(WHITE, under=WHITE), "PNG"),
    "grey with alpha": lambda: file_of(grey_alpha(), "PNG"),
    "16-bit grey": lambda: file_of(sixteen_bits(16), "PNG"),
    "12-bit grey": lambda: file_of(sixteen_bits(12), "TIFF"),
    "CMYK JPEG": lambda: file_of(drawing().convert("CMYK"), "JPEG"),
    "CMYK TIFF": lambda: file_of(drawing().convert("CMYK"), "TIFF"),
    "progressive JPEG": lambda: file_of(drawing(), "JPEG", progressive=True),
    "grey JPEG": lambda: file_of(drawing().convert("L"), "JPEG"),
    "WebP": lambda: file_of(drawing(), "WEBP"),
    "BMP": lambda: file_of(drawing(), "BMP"),
    "fax": lambda: file_of(drawing().convert("1", dither=Image.Dither.NONE), "TIFF", compression="group4"),
    "HEIC": lambda: file_of(drawing(), "HEIF"),
    "AVIF": lambda: file_of(drawing(), "AVIF"),
    "JPEG 2000": lambda: file_of(drawing(), "JPEG2000"),
    "PNM": lambda: file_of(drawing(), "PPM"),
}
