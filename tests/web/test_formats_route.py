"""Answers in other forms than JSON, over HTTP."""

from dataclasses import replace

import pytest
from web_fakes import LINE, PAGE, FakePipeline, post

from gateway.errors import UnreadableImage
from gateway.formats.table import FORMATS
from gateway.web.negotiation import accepted_format

DATA = b"\x89PNG and so on"
STARTS = {
    "text": b"hello, w",
    "markdown": b"hello, w",
    "tsv": b"level\tpage_num",
    "hocr": b"<?xml",
    "alto": b"<?xml",
    "page": b"<?xml",
    "pdf": b"%PDF-1.",
    "png": b"\x89PNG",
}


@pytest.mark.parametrize("name", FORMATS)
async def test_a_format_is_asked_for_by_its_name_or_by_its_type(name):
    named = await post(content=DATA, params={"format": name})
    accepted = await post(content=DATA, headers={"accept": FORMATS[name].media_type.partition(";")[0]})
    for answer in (named, accepted):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == FORMATS[name].media_type
        assert answer.content.startswith(STARTS[name])


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("text/plain", "text"),
        ("TEXT/PLAIN; charset=utf-8", "text"),
        ("application/pdf;q=0.5, text/plain;q=0.9", "text"),
        ("application/pdf, */*", "pdf"),
        ("*/*, application/pdf", "pdf"),
        ("*/*, application/pdf;q=0.9", "json"),
        ("application/x-ndjson", "ndjson"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "json"),
        ("image/x-unheard-of", "json"),
        ("application/pdf;q=nonsense", "json"),
        ("application/pdf;q=0", "json"),
        (",;=,", "json"),
    ],
)
def test_accept_in_the_order_of_preference(accept, name):
    assert accepted_format(accept) == name


async def test_the_option_counts_more_than_accept():
    answer = await post(content=DATA, params={"format": "json"}, headers={"accept": "application/pdf"})
    assert answer.headers["content-type"] == "application/json"


async def test_a_stream_of_lines_may_be_asked_for_by_name():
    answer = await post(content=DATA, params={"format": "ndjson"})
    assert answer.headers["content-type"] == "application/x-ndjson"


@pytest.mark.parametrize(
    ("name", "level", "keeps_image"),
    [("text", "line", False), ("tsv", "word", False), ("pdf", "word", True), ("png", "line", True)],
)
async def test_formats_get_the_words_and_the_image_that_they_need(name, level, keeps_image):
    pipeline = FakePipeline()
    await post(pipeline, content=DATA, params={"format": name})
    assert (pipeline.options.level, pipeline.options.keep_image) == (level, keeps_image)


async def test_characters_are_kept_if_they_are_asked_for():
    pipeline = FakePipeline()
    await post(pipeline, content=DATA, params={"format": "page", "level": "char"})
    assert pipeline.options.level == "char"


async def test_warnings_and_times_are_in_the_header():
    answer = await post(content=DATA, params={"format": "text"})
    assert answer.headers["x-ocr-warnings"] == "line_split"
    assert "write;dur=" in answer.headers["server-timing"]
    quiet = await post(FakePipeline(replace(PAGE, warnings=())), content=DATA, params={"format": "text"})
    assert "x-ocr-warnings" not in quiet.headers


async def test_several_pages_are_one_answer():
    answer = await post(FakePipeline(pages=3), content=DATA, params={"format": "text"})
    assert answer.text == "\f".join([f"{LINE.transcription.text}\n"] * 3)


@pytest.mark.parametrize("name", ["page", "png"])
async def test_a_format_of_one_page_refuses_several(name):
    answer = await post(FakePipeline(pages=3), content=DATA, params={"format": name})
    assert answer.status_code == 400
    assert "there are 3; choose one with pages" in answer.json()["detail"]
    assert (await post(FakePipeline(pages=3), content=DATA, params={"format": name, "pages": "2"})).status_code == 200


async def test_a_page_that_fails_fails_the_answer():
    pipeline = FakePipeline(outcomes={(DATA, 2): UnreadableImage("broken")}, pages=3)
    answer = await post(pipeline, content=DATA, params={"format": "text"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_image")


@pytest.mark.parametrize("how", [{"params": {"format": "tsv"}}, {"headers": {"accept": "text/tab-separated-values"}}])
async def test_what_needs_text_is_refused_without(how):
    answer = await post(files={"file": DATA}, data={"recognize": "false"}, **how)
    assert answer.status_code == 400
    assert answer.json()["detail"] == "format=tsv needs text, which recognize=false leaves out; leave one out"


async def test_places_alone_may_be_drawn():
    assert (await post(content=DATA, params={"recognize": "false", "format": "png"})).status_code == 200
