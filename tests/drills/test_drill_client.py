"""How the drills' client sees an answer, and what it sends."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path

import httpx
import pytest

from tests.drills import driver
from tests.drills.ledger import Ending
from tests.drills.pages import USUAL, Kind, SentPage, render_pages, stream

PAGE = SentPage("line", b"image", {"detect": "false"})

Answer = Callable[[httpx.Request], httpx.Response]


def json_answer(status: int, body: Mapping[str, object]) -> Answer:
    return lambda _: httpx.Response(status, json=body)


def broken(_: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("reset")


async def never(_: httpx.Request) -> httpx.Response:
    await asyncio.sleep(60)
    raise AssertionError


PAGES = {"pages": [{"text": "one"}], "request_id": "id-1"}


@pytest.mark.parametrize(
    ("answer", "ending", "status", "code", "text"),
    [
        (json_answer(200, PAGES), Ending.ANSWERED, 200, None, "one"),
        (
            json_answer(503, {"code": "overloaded", "instance": "/v1/ocr", "request_id": "id-1"}),
            Ending.ANSWERED,
            503,
            "overloaded",
            None,
        ),
        (
            json_answer(503, {"code": "backend_unavailable", "instance": "", "request_id": "id-1"}),
            Ending.PROXY,
            503,
            "backend_unavailable",
            None,
        ),
        (lambda _: httpx.Response(502, text="<html>"), Ending.PROXY, 502, "http_502", None),
        (broken, Ending.LOST, None, "ReadError", None),
        (never, Ending.SILENT, None, None, None),
    ],
    ids=["page", "problem", "proxy", "proxy's page", "reset", "silence"],
)
async def test_every_way_to_end_has_its_name(
    answer: Answer, ending: Ending, status: int | None, code: str | None, text: str | None
) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://gateway") as client:
        exchange = await driver.ask(client, "id-1", PAGE, patience_s=0.05)
    assert (exchange.ending, exchange.status, exchange.code, exchange.text) == (ending, status, code, text)
    assert exchange.ended_at >= exchange.sent_at


async def test_a_client_that_means_to_leave_has_left() -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(never), base_url="http://gateway") as client:
        assert (await driver.ask(client, "id-1", PAGE, patience_s=0.0, leaves=True)).ending is Ending.LEFT


async def test_a_request_carries_its_id_its_options_and_the_image() -> None:
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), request.headers["X-Request-Id"], request.content))
        return httpx.Response(200, json=PAGES)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://gateway") as client:
        await driver.ask(client, "id-1", PAGE)
    assert seen == [("POST", "http://gateway/v1/ocr?detect=false", "id-1", b"image")]


@pytest.fixture(scope="module")
def pages() -> dict[Kind, list[SentPage]]:
    return {kind: list(those) for kind, those in render_pages(Path("absent")).items()}


def test_the_same_pages_are_sent_each_time(pages: dict[Kind, list[SentPage]]) -> None:
    first, second = ([page.name for page in islice(stream(pages, USUAL), 100)] for _ in range(2))
    assert first == second


def test_pages_of_a_kind_take_turns(pages: dict[Kind, list[SentPage]]) -> None:
    names = [page.name for page in islice(stream(pages, (Kind.LINE, Kind.PAGE)), 8)]
    assert names == ["line-0", "page-0", "line-1", "page-1", "line-2", "page-2", "line-3", "page-3"]


def test_no_two_pages_have_one_name(pages: dict[Kind, list[SentPage]]) -> None:
    data = {page.name: page.data for kind in pages.values() for page in kind}
    assert all(data[page.name] == page.data for kind in pages.values() for page in kind)


def test_without_the_corpus_pages_take_the_place_of_photos(pages: dict[Kind, list[SentPage]]) -> None:
    assert pages[Kind.PHOTO] == pages[Kind.PAGE]
