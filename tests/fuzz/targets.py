"""What atheris feeds: a script for the environment of requirements/fuzz.txt, which also sees the gateway's packages.

The first byte of an input chooses what it is for. Whatever comes in, only errors of ours may come out:

    python targets.py [libFuzzer's options] FOLDER_OF_SEEDS
"""

import os
import sys
import warnings
from contextlib import suppress

import atheris  # type: ignore[import-not-found] # it lives in another environment

with atheris.instrument_imports(include=["gateway", "PIL"]):
    from gateway.errors import OcrError
    from gateway.ocr.decoding.files import decode_page, inspect_file
    from gateway.ocr.decoding.limits import DecodeLimits
    from gateway.ocr.options import DocumentOptions
    from gateway.web.json_body import parse_json
    from gateway.web.multipart import FormParser

LIMITS = DecodeLimits(max_pixels=1_000_000, max_side=5_000)
OPTIONS = DocumentOptions(dpi=72, text_layer="only")
BOUNDARY = "multipart/form-data; boundary=edge"


def header(data: bytes) -> None:
    """Read a header; pages that are not over the limits have pixels."""
    info = inspect_file(data, LIMITS, OPTIONS)
    assert info.page_pixels
    assert max(info.page_pixels) <= LIMITS.max_pixels


def decode(data: bytes) -> None:
    """Decode the first two pages: upright 8-bit colours within the limits."""
    pages = len(inspect_file(data, LIMITS, OPTIONS).page_pixels)
    for number in range(1, min(pages, 2) + 1):
        image = decode_page(data, LIMITS, number, OPTIONS).image
        height, width, channels = image.shape
        assert (channels, image.dtype) == (3, "uint8")
        assert 0 < height * width <= LIMITS.max_pixels


def multipart(data: bytes) -> None:
    """Parse a form, in two pieces."""
    parser = FormParser(BOUNDARY, max_files=4)
    parser.feed(data[: len(data) // 2])
    parser.feed(data[len(data) // 2 :])
    assert 1 <= len(parser.finish().files) <= 4


def json(data: bytes) -> None:
    """Parse a JSON body."""
    assert 1 <= len(parse_json(data, max_files=4).files) <= 4


TARGETS = (header, decode, multipart, json)


def test_one_input(data: bytes) -> None:
    """What atheris calls."""
    if not data:
        return
    with suppress(OcrError):
        TARGETS[data[0] % len(TARGETS)](data[1:])


def main() -> None:
    """Fuzz until the time is over, or something else than an error of ours comes out."""
    warnings.simplefilter("ignore")
    # The decoders' own complaints about damaged files would be millions of lines.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
