"""The files that the examples in docs/ are about: what they say stands in the examples' answers."""

import io
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

PHOTO = ["Invoice 2026-114", "Total 48.00 EUR"]
TURN_RIGHT = 6
"""The orientation of a camera that was held upright."""


def sheet(lines: list[str], *, size: int = 28) -> Image.Image:
    """Lines of text on paper."""
    picture = Image.new("RGB", (448, 48 * len(lines) + 32), (246, 244, 240))
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        draw.text((36, 20 + 48 * number), line, (30, 30, 36), ImageFont.load_default(size))
    return picture


def photo(lines: list[str]) -> bytes:
    """A sheet as a camera stores it: lying on its side, with a note to turn it."""
    picture = sheet(lines).rotate(90, expand=True)
    note = Image.Exif()
    note[0x0112] = TURN_RIGHT
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=95, exif=note)
    return buffer.getvalue()


def scan(*pages: list[str]) -> bytes:
    """A document of several sheets, as a scanner makes it: pictures and no text."""
    first, *others = map(sheet, pages)
    buffer = io.BytesIO()
    first.save(buffer, "PDF", resolution=200, save_all=True, append_images=others)
    return buffer.getvalue()


def write_files(folder: Path) -> None:
    """Everything that an example names."""
    (folder / "photo.jpg").write_bytes(photo(PHOTO))
    (folder / "front.jpg").write_bytes(photo(["Delivery note 17", "3 parcels"]))
    (folder / "back.jpg").write_bytes(photo(["Received in full"]))
    (folder / "scan.pdf").write_bytes(scan(PHOTO, ["Terms of delivery"], ["Page three"]))
    sheet(["Platform 9", "Gate 12"]).save(folder / "plan.png")
    sheet(["One line alone"]).save(folder / "line.png")
