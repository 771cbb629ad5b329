"""What the gateway and a decoder process say to each other.

A question is one packet: JSON, and a descriptor of the file's bytes. An answer is one packet, too: the length of the
JSON in it, and a descriptor of memory with that JSON and, behind it, the pixels. Nothing is unpickled: a process that
has decoded a hostile file is not trusted.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from gateway.errors import DecoderFailed, ImageError, ImageTooLarge, UnreadableImage, UnsupportedImage
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.decoding.picture import Decoded, FileInfo
from gateway.ocr.elements import LayerLine, PageWarning, Picture
from gateway.ocr.options import DocumentOptions

MAX_PACKET_BYTES = 4096
READY = b"ready"
"""The first packet of a process."""

BEGUN = b"begun"
"""The packet before each answer: the question has been taken, so what happens now is its doing."""

_LENGTH = struct.Struct("<Q")
_ERRORS: Mapping[str, type[ImageError]] = {
    error.code: error for error in (UnsupportedImage, UnreadableImage, ImageTooLarge)
}
_NO_PIXELS = np.zeros((0, 0, 3), np.uint8)

Answer = FileInfo | Decoded | ImageError


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be done with a file.

    Attributes:
        task: read its header, or decode a page.
        limits: of an image.
        options: how pages that are no pictures are drawn.
        number: of the page, from 1.
    """

    task: Literal["inspect", "decode"]
    limits: DecodeLimits
    options: DocumentOptions
    number: int = 1

    def packet(self) -> bytes:
        """The question as it is sent."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def parse(cls, packet: bytes) -> "Question":
        """A question as it came; the gateway is trusted."""
        members = json.loads(packet)
        limits, options = DecodeLimits(**members["limits"]), DocumentOptions(**members["options"])
        return cls(members["task"], limits, options, members["number"])


def answer_parts(answer: Answer) -> tuple[bytes, tuple[memoryview, ...]]:
    """The packet of an answer, and the parts of the memory that goes with it."""
    pixels = answer.image if isinstance(answer, Decoded) else _NO_PIXELS
    text = json.dumps(_members(answer)).encode()
    return _LENGTH.pack(len(text)), (memoryview(text), np.ascontiguousarray(pixels).reshape(-1).data)


def parse_answer(packet: bytes, memory: memoryview) -> Answer:
    """An answer as it came.

    Raises:
        DecoderFailed: it makes no sense.
    """
    try:
        (length,) = _LENGTH.unpack(packet)
        return _parse(json.loads(bytes(memory[:length])), memory[length:])
    except (ValueError, TypeError, KeyError, struct.error) as error:
        raise DecoderFailed(f"the decoder's answer makes no sense: {error}") from error


def _members(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, ImageError):
        return {"error": answer.code, "detail": answer.detail}
    if isinstance(answer, FileInfo):
        return {"info": asdict(answer)}
    shape = answer.image.shape
    return {"shape": shape, **asdict(replace(answer, image=_NO_PIXELS)), "image": None}


def _parse(members: dict[str, Any], pixels: memoryview) -> Answer:
    if "error" in members:
        return _ERRORS.get(members["error"], DecoderFailed)(str(members["detail"]))
    if "info" in members:
        info = members["info"]
        return FileInfo(str(info["file_type"]), tuple(map(int, info["page_pixels"])))
    height, width, _ = map(int, members["shape"])
    if min(height, width) < 1 or height * width * 3 != len(pixels):
        raise ValueError(f"{len(pixels)} bytes are no {width} x {height} pixels")
    return Decoded(
        np.frombuffer(pixels, np.uint8).reshape(height, width, 3),
        Picture(**members["picture"]),
        tuple(PageWarning(**warning) for warning in members["warnings"]),
        tuple(LayerLine(str(line["text"]), _box(line["box"])) for line in members["text_layer"]),
    )


def _box(sides: list[float]) -> tuple[float, float, float, float]:
    left, top, right, bottom = map(float, sides)
    return left, top, right, bottom
