"""Inputs that atheris begins with: a small file of every type, for every target."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pillow_heif
from PIL import Image

# Only to write HEIC; the gateway reads it with pi-heif.
pillow_heif.register_heif_opener()

WAYS = (
    ("JPEG", "RGB", {}),
    ("JPEG", "CMYK", {}),
    ("JPEG", "L", {"progressive": True}),
    ("PNG", "RGB", {}),
    ("PNG", "P", {}),
    ("PNG", "LA", {}),
    ("PNG", "1", {}),
    ("PNG", "I;16", {}),
    ("WEBP", "RGB", {}),
    ("WEBP", "RGBA", {"lossless": True}),
    ("BMP", "RGB", {}),
    ("GIF", "P", {}),
    ("TIFF", "RGB", {"compression": "tiff_lzw"}),
    ("TIFF", "1", {"compression": "group4"}),
    ("TIFF", "RGB", {"compression": "jpeg"}),
    ("HEIF", "RGB", {}),
    ("AVIF", "RGB", {}),
    ("JPEG2000", "RGB", {}),
    ("PPM", "RGB", {}),
    ("PDF", "RGB", {}),
)
"""Type, mode and options, as Pillow calls them."""

HEADER, DECODE, MULTIPART, JSON = b"\0", b"\1", b"\2", b"\3"
"""First bytes, which choose a target; see `targets`."""

FORM = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n%s\r\n--edge\r\n'
FIELD = b'Content-Disposition: form-data; name="dpi"\r\n\r\n72\r\n--edge--\r\n'


def write_seeds(folder: Path) -> None:
    """Write all of them as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (folder / f"{number:03}").write_bytes(seed)


def seeds() -> Iterator[bytes]:
    """All of them."""
    for file_type, mode, options in WAYS:
        data = _file(file_type, mode, options)
        yield HEADER + data
        yield DECODE + data
    yield MULTIPART + FORM % b"data" + FIELD
    image = base64.b64encode(b"data")
    yield JSON + b'{"image": "%s", "dpi": 72, "detect": true}' % image
    yield JSON + b'{"images": ["%s", "data:image/png;base64,%s"]}' % (image, image)


def _file(file_type: str, mode: str, options: dict[str, object]) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)
    picture = Image.fromarray(pixels)
    if mode == "I;16":
        picture = Image.fromarray(pixels[..., 0].astype(np.uint16) << 8)
    elif picture.mode != mode:
        picture = picture.convert(mode)
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()
