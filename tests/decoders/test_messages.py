import json
import struct

import numpy as np
import pytest

from gateway.decoders.messages import Question, answer_parts, parse_answer
from gateway.errors import DecoderFailed, ImageTooLarge, UnreadableImage, UnsupportedImage
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.decoding.picture import Decoded, FileInfo
from gateway.ocr.elements import PageWarning, Picture
from gateway.ocr.options import DocumentOptions

IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
DECODED = Decoded(IMAGE, Picture("TIFF", "1", 4, 2, 3, turned=True, paper="black"), (PageWarning("stretched", "é"),))


def sent(answer):
    packet, parts = answer_parts(answer)
    return packet, memoryview(b"".join(parts))


def test_a_question_arrives_as_it_was():
    question = Question("decode", DecodeLimits(1, 2), DocumentOptions(dpi=3), 4)
    assert Question.parse(question.packet()) == question


def test_a_page_arrives_as_it_was():
    arrived = parse_answer(*sent(DECODED))
    assert (arrived.image == IMAGE).all()
    assert (arrived.picture, arrived.warnings) == (DECODED.picture, DECODED.warnings)


def test_a_header_arrives_as_it_was():
    info = FileInfo("PDF", (1, 0, 3))
    assert parse_answer(*sent(info)) == info


@pytest.mark.parametrize("kind", [UnsupportedImage, UnreadableImage, ImageTooLarge])
def test_an_error_arrives_as_it_was(kind):
    arrived = parse_answer(*sent(kind("why")))
    assert (type(arrived), arrived.detail) == (kind, "why")


def answer(members, pixels=b""):
    text = json.dumps(members).encode()
    return struct.pack("<Q", len(text)), memoryview(text + pixels)


PICTURE = {"file_type": "TIFF", "mode": "1", "width": 4, "height": 2}


@pytest.mark.parametrize(
    ("packet", "memory"),
    [
        (b"", memoryview(b"{}")),
        (b"12345678", memoryview(b"{}")),
        answer([]),
        answer({}),
        answer({"info": {}}),
        answer({"info": {"file_type": "PDF", "page_pixels": ["x"]}}),
        answer({"shape": [2, 4, 3], "picture": PICTURE, "warnings": []}, bytes(23)),
        answer({"shape": [1 << 40, 1 << 40, 3], "picture": PICTURE, "warnings": []}, bytes(24)),
        answer({"shape": [-1, 4, 3], "picture": PICTURE, "warnings": []}, bytes(24)),
        answer({"shape": [2, 4, 3], "picture": {}, "warnings": []}, bytes(24)),
        answer({"shape": [2, 4, 3], "picture": PICTURE, "warnings": [{"code": 1}]}, bytes(24)),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_failure_of_the_decoder(packet, memory):
    with pytest.raises(DecoderFailed, match="makes no sense"):
        parse_answer(packet, memory)
