"""Answers of lines, and of several pages and files."""

import asyncio
import json

import pytest
from web_fakes import PAGE, FakePipeline, app_with, chunk, post

from gateway.errors import BackendUnavailable, UnreadableImage, UnsupportedImage
from gateway.web.record import record_of
from gateway.web.services import RequestLimits

LINES = {"accept": "application/x-ndjson"}
BAD = UnreadableImage("the TIFF is truncated or corrupt", stage="decode")


def lines_of(response):
    return [json.loads(line) for line in response.text.splitlines()]


def files(*data):
    return [("file", one) for one in data]


class TestPages:
    async def test_every_page_is_answered_in_its_order(self):
        answer = (await post(FakePipeline(pages=3), content=b"a")).json()
        assert answer["files"] == [{"number": 1, "format": "TIFF", "pages": 3}]
        assert [(page["file"], page["number"]) for page in answer["pages"]] == [(1, 1), (1, 2), (1, 3)]
        assert [(warning["file"], warning["page"]) for warning in answer["warnings"]] == [(1, 1), (1, 2), (1, 3)]

    @pytest.mark.parametrize(
        ("pages", "numbers"), [("2", [2]), ("3-", [3, 4]), ("1,3-4", [1, 3, 4]), ("4,1-2,2", [1, 2, 4])]
    )
    async def test_only_those_that_are_asked_for_are_read(self, pages, numbers):
        pipeline = FakePipeline(pages=4)
        answer = (await post(pipeline, content=b"a", params={"pages": pages})).json()
        assert [page["number"] for page in answer["pages"]] == numbers
        assert len(pipeline.calls) == len(numbers)

    async def test_pages_that_are_not_there_are_named(self):
        answer = (await post(FakePipeline(pages=4), content=b"a", params={"pages": "3-6,9"})).json()
        assert [page["number"] for page in answer["pages"]] == [3, 4]
        detail = "the file has 4 pages; there are none with the numbers 5-6,9"
        assert answer["warnings"][0] == {"code": "pages_missing", "detail": detail, "file": 1, "page": None}

    async def test_asking_for_none_that_is_there_is_refused(self):
        response = await post(FakePipeline(pages=4), content=b"a", params={"pages": "5-"})
        assert response.status_code == 400
        assert "the file has 4 pages; there are none with the numbers 5-" in response.json()["detail"]

    async def test_more_than_are_allowed_are_refused_and_not_cut(self):
        limits = RequestLimits(max_body_bytes=1000, timeout_s=9, max_timeout_s=9, max_pages=3)
        pipeline = FakePipeline(pages=4)
        response = await post(pipeline, content=b"a", choices={"limits": limits})
        assert (response.status_code, response.json()["code"]) == (422, "too_many_pages")
        assert response.json()["detail"].startswith("4 pages are asked for, and 3 may be read in one request")
        assert pipeline.calls == []
        assert pipeline.files[0].closed == 1

    async def test_a_page_that_fails_costs_only_itself(self):
        pipeline = FakePipeline(pages=3, outcomes={(b"a", 2): BAD})
        response = await post(pipeline, content=b"a")
        answer = response.json()
        assert response.status_code == 200
        assert [page["number"] for page in answer["pages"]] == [1, 3]
        assert answer["errors"] == [
            {
                "file": 1,
                "page": 2,
                "code": "unreadable_image",
                "detail": "the TIFF is truncated or corrupt",
                "stage": "decode",
                "retryable": False,
            }
        ]

    async def test_if_all_fail_the_request_fails_with_what_befell_the_first(self):
        pipeline = FakePipeline(BackendUnavailable("no server"), pages=2, outcomes={(b"a", 1): BAD})
        response = await post(pipeline, content=b"a")
        assert (response.status_code, response.json()["code"]) == (422, "unreadable_image")

    async def test_files_are_closed_whatever_happens(self):
        for outcome in (PAGE, BAD, RuntimeError("a bug")):
            pipeline = FakePipeline(outcome, pages=2)
            await post(pipeline, content=b"a")
            assert [file.closed for file in pipeline.files] == [1]


class TestFiles:
    async def test_several_are_answered_in_their_order(self):
        pipeline = FakePipeline()
        answer = (await post(pipeline, files=files(b"a", b"b", b"c"))).json()
        assert [file["number"] for file in answer["files"]] == [1, 2, 3]
        assert [(page["file"], page["number"]) for page in answer["pages"]] == [(1, 1), (2, 1), (3, 1)]
        assert [call[0] for call in pipeline.calls] == [b"a", b"b", b"c"]

    async def test_one_that_cannot_be_opened_is_an_error_in_its_place(self):
        pipeline = FakePipeline(unopened={b"b": UnsupportedImage("the data looks like plain text", stage="decode")})
        answer = (await post(pipeline, files=files(b"a", b"b", b"c"))).json()
        assert answer["files"][1] == {"number": 2, "format": None, "pages": None}
        assert [page["file"] for page in answer["pages"]] == [1, 3]
        assert [(error["file"], error["page"], error["code"]) for error in answer["errors"]] == [
            (2, None, "unsupported_image")
        ]

    async def test_if_none_can_be_opened_the_request_fails_with_what_befell_the_first(self):
        unopened = {b"a": UnsupportedImage("plain text"), b"b": BAD}
        response = await post(FakePipeline(unopened=unopened), files=files(b"a", b"b"))
        assert (response.status_code, response.json()["code"]) == (415, "unsupported_image")

    async def test_json_takes_several_too(self):
        answer = (await post(FakePipeline(), json={"images": ["YQ==", "Yg=="]})).json()
        assert [page["file"] for page in answer["pages"]] == [1, 2]


class TestLines:
    async def test_a_stream_is_a_start_a_line_for_each_page_and_an_end(self):
        pipeline = FakePipeline(pages=3, outcomes={(b"a", 2): BAD})
        response = await post(pipeline, content=b"a", headers=LINES, params={"pages": "1-4"})
        assert response.headers["content-type"] == "application/x-ndjson"
        start, first, second, third, end = lines_of(response)
        assert (start["event"], start["total"], start["files"][0]["pages"]) == ("start", 3, 3)
        assert (first["event"], first["done"], first["total"], first["page"]["number"]) == ("page", 1, 3, 1)
        assert [warning["code"] for warning in first["warnings"]] == ["line_split"]
        assert (second["event"], second["done"], second["error"]["page"]) == ("error", 2, 2)
        assert (third["event"], third["done"], third["page"]["number"]) == ("page", 3, 3)
        assert (end["event"], end["pages"], end["errors"]) == ("end", 2, 1)
        assert [warning["code"] for warning in end["warnings"]] == ["pages_missing"]

    async def test_the_end_has_the_times_for_which_there_was_no_header_yet(self):
        response = await post(FakePipeline(pages=2), content=b"a", headers=LINES)
        assert "server-timing" not in response.headers
        *_, end = lines_of(response)
        assert list(end["stages_ms"]) == ["decode"]
        assert end["stages_ms"]["decode"] >= 0

    async def test_a_page_in_a_stream_is_the_one_without(self):
        alone = (await post(content=b"a")).json()
        start, page, _ = lines_of(await post(content=b"a", headers=LINES))
        assert page["page"] == alone["pages"][0]
        assert {name: start[name] for name in ("model_set", "models", "files")} == {
            name: alone[name] for name in ("model_set", "models", "files")
        }

    @pytest.mark.parametrize("accept", ["text/html, Application/X-NDJSON;q=0.9", "application/x-ndjson"])
    async def test_it_is_asked_for_in_accept(self, accept):
        assert len(lines_of(await post(content=b"a", headers={"accept": accept}))) == 3

    async def test_what_is_wrong_before_the_first_line_is_a_problem(self):
        for pipeline in (FakePipeline(BAD), FakePipeline(unopened={b"a": BAD})):
            response = await post(pipeline, content=b"a", headers=LINES)
            assert (response.status_code, response.json()["code"]) == (422, "unreadable_image")

    async def test_pages_are_sent_before_later_ones_are_read(self):
        pipeline = FakePipeline(pages=50)
        read_before = []

        async def note(message):
            if message["type"] == "http.response.body":
                read_before.append(len(pipeline.calls))

        await send_to(app_with(pipeline), note)
        assert len(read_before) == 53  # a start, the pages, an end, and the end of the body
        assert all(read <= line + 1 for line, read in enumerate(read_before)), "one page ahead, and no more"

    async def test_a_client_that_leaves_in_the_middle_stops_the_reading(self):
        pipeline = FakePipeline(pages=50, outcomes={})
        left = asyncio.Event()

        async def leave_after_the_third(message):
            if message["type"] == "http.response.body" and b'"done":3' in message["body"]:
                left.set()
                await asyncio.sleep(1)

        await send_to(app_with(pipeline), leave_after_the_third, left=left)
        assert len(pipeline.calls) <= 5
        assert pipeline.files[0].closed == 1

    async def test_a_client_that_does_not_fetch_its_lines_is_given_up_at_the_deadline(self):
        pipeline = FakePipeline(pages=50)

        await send_to(app_with(pipeline), take_no_line, query=b"timeout=0.5")
        assert pipeline.files[0].closed == 1
        assert len(pipeline.calls) <= 3

    async def test_every_page_of_a_stream_has_as_long_as_the_request_asked_for(self):
        response = await post(SlowPages(), content=b"a", headers=LINES, params={"timeout": "1"})
        *_, end = lines_of(response)
        assert (end["pages"], end["errors"]) == (12, 0)

    async def test_a_stream_has_an_end_and_the_pages_that_are_left_are_errors(self):
        limits = RequestLimits(max_body_bytes=1000, timeout_s=0.5, max_timeout_s=9, max_stream_s=0.7)
        *errors, end = lines_of(await post(SlowPages(), content=b"a", headers=LINES, choices={"limits": limits}))[-3:]
        assert [error["error"]["code"] for error in errors] == ["deadline_exceeded"] * 2
        assert 0 < end["pages"] < 12

    async def test_an_answer_in_one_piece_has_one_deadline_and_names_the_pages_that_came_too_late(self):
        answer = (await post(SlowPages(), content=b"a", params={"timeout": "0.5"})).json()
        late = answer["errors"]
        assert [page["number"] for page in answer["pages"]] + [error["page"] for error in late] == list(range(1, 13))
        assert {error["code"] for error in late} == {"deadline_exceeded"}
        assert "the 0.5 s of the request were over before this page's turn" in late[-1]["detail"]

    async def test_a_stream_that_was_cut_is_counted_as_the_clients_doing(self):
        scope = {}

        await send_to(app_with(FakePipeline(pages=50)), take_no_line, query=b"timeout=0.5", into=scope)
        assert (record_of(scope).status, record_of(scope).code) == (499, "client_closed")

    async def test_no_proxy_should_collect_the_lines(self):
        response = await post(content=b"a", headers=LINES)
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["cache-control"] == "no-store"
        assert "content-length" not in response.headers


class SlowPages(FakePipeline):
    """Twelve pages, two of which take 0.2 s together."""

    def __init__(self):
        super().__init__(pages=12, page_s=0.2)


async def take_no_line(message):
    """A client that stops reading at the first line; a problem it would read."""
    if b'"event"' in message.get("body", b""):
        await asyncio.Event().wait()


async def send_to(app, on_message, *, left=None, query=b"", into=None):
    """Play an HTTP server whose client may leave, and tell `on_message` of everything that is sent.

    The request's scope is made `into` a dictionary that a test can look at.
    """
    waiting = [chunk(b"a")]

    async def receive():
        if waiting:
            return waiting.pop(0)
        await (left or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    scope = {} if into is None else into
    scope |= {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/ocr",
        "raw_path": b"/v1/ocr",
        "query_string": query,
        "headers": [(b"accept", b"application/x-ndjson")],
        "scheme": "http",
    }
    await app(scope, receive, on_message)
