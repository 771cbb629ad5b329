"""Documents and several files through a whole gateway."""

import json

import httpx
import numpy as np
import pytest
from drawings import TEXT, drawing, file_of
from rendered_pages import page

from tests.ocr.made_pdf import pdf_with

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TEXTS = ["Amount 12.50", "Delivery 1300", "Winter Sugar"]


def document(file_type, *texts, **options):
    """A page for each text."""
    pages = [page([text], width=420, height=120, size=32) for text in texts]
    return file_of(pages[0], file_type, save_all=True, append_images=pages[1:], **options)


def post(gateway, **request):
    return httpx.post(f"{gateway}/v1/ocr", trust_env=False, timeout=60, **request)


@pytest.mark.parametrize(("file_type", "options"), [("TIFF", {}), ("PDF", {"resolution": 200})])
def test_every_page_is_read_in_its_order(gateway, file_type, options):
    answer = post(gateway, content=document(file_type, *TEXTS, **options)).json()
    assert [(one["number"], one["text"]) for one in answer["pages"]] == list(enumerate(TEXTS, start=1))
    assert [(one["width"], one["height"]) for one in answer["pages"]] == [(420, 120)] * 3
    assert answer["files"] == [{"number": 1, "format": file_type, "pages": 3}]
    assert answer["errors"] == []


def test_a_stream_has_the_same_pages(gateway):
    data = document("TIFF", *TEXTS)
    with httpx.stream(
        "POST",
        f"{gateway}/v1/ocr",
        content=data,
        params={"pages": "2-"},
        headers={"Accept": "application/x-ndjson"},
        trust_env=False,
        timeout=60,
    ) as response:
        lines = [json.loads(line) for line in response.iter_lines()]
    assert [line["event"] for line in lines] == ["start", "page", "page", "end"]
    assert [line["page"]["text"] for line in lines[1:3]] == TEXTS[1:]


def test_several_files_of_several_types_are_read_in_their_order(gateway):
    files = [
        ("file", file_of(drawing(), "PNG")),
        ("file", b"no image"),
        ("file", document("PDF", *TEXTS[:2], resolution=200)),
        ("file", file_of(drawing(), "AVIF")),
    ]
    answer = post(gateway, files=files).json()
    assert [(one["file"], one["number"], one["text"]) for one in answer["pages"]] == [
        (1, 1, TEXT),
        (3, 1, TEXTS[0]),
        (3, 2, TEXTS[1]),
        (4, 1, TEXT),
    ]
    assert [(error["file"], error["code"]) for error in answer["errors"]] == [(2, "unsupported_image")]


def test_a_page_that_is_damaged_costs_only_itself(gateway):
    data = bytearray(document("TIFF", *TEXTS, compression="tiff_lzw"))
    damaged = data.index(b"II*\0") + 8
    data[damaged : damaged + 200] = b"\xff" * 200
    answer = post(gateway, content=bytes(data)).json()
    assert [one["text"] for one in answer["pages"]] == TEXTS[1:]
    assert [(error["page"], error["code"]) for error in answer["errors"]] == [(1, "unreadable_image")]


class TestTextLayer:
    """A page with text of its own, and below it a picture of text."""

    OWN, DRAWN = "Invoice 2026", "Winter Sugar"

    def read(self, gateway, text_layer):
        pixels = np.asarray(page([self.DRAWN], width=420, height=120, size=32).convert("L"))
        content = b"BT /F 24 Tf 1 0 0 1 30 160 Tm (%s) Tj ET q 210 0 0 60 20 40 cm /X Do Q" % self.OWN.encode()
        data = pdf_with(content, size=(300, 200), picture=pixels)
        [answer] = post(gateway, content=data, params={"text_layer": text_layer}).json()["pages"]
        return [(line["text"], line["source"]) for line in answer["lines"]]

    def test_it_is_ignored_unless_asked_for(self, gateway):
        assert self.read(gateway, "ignore") == [(self.OWN, "ocr"), (self.DRAWN, "ocr")]

    def test_it_may_be_preferred_where_there_is_some(self, gateway):
        assert self.read(gateway, "prefer") == [(self.OWN, "text_layer"), (self.DRAWN, "ocr")]

    def test_it_may_be_all_that_is_wanted(self, gateway):
        assert self.read(gateway, "only") == [(self.OWN, "text_layer")]
