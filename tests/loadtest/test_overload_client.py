"""What the overload's client makes of answers, and how it asks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest

from loadtest.overload.client import SOURCES, Client, parse
from loadtest.overload.load import Stream, ask_in_turns, offer
from loadtest.overload.reply import Answer
from triton_models.server import LOOPBACK, Ports

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n"
PROBLEM = b"""HTTP/1.1 503 Service Unavailable\r
content-type: application/problem+json\r
content-length: 21\r
\r
{"code":"overloaded"}"""


@pytest.mark.parametrize(
    ("received", "answer"),
    [
        (b"", None),
        (PAGE[:20], None),
        (PAGE[:-1], None),
        (PAGE, Answer(200)),
        (PAGE + PAGE, Answer(200, surplus=len(PAGE))),
        (REFUSAL, Answer(503, retry_after=True, closes=True)),
        (PROBLEM, Answer(503, code="overloaded")),
    ],
    ids=["nothing", "half a header", "half a body", "page", "two pages", "refusal", "problem"],
)
def test_an_answer_is_known_when_it_is_complete(received: bytes, answer: Answer | None) -> None:
    assert parse(received) == answer


def test_a_request_says_how_long_it_is_and_what_it_is() -> None:
    head, body = Client(LOOPBACK, 1).request(b"image", X_Priority="batch").split(b"\r\n\r\n")
    assert head.splitlines() == [
        b"POST /v1/ocr HTTP/1.1",
        b"Host: 127.0.0.1",
        b"Content-Length: 5",
        b"X-Priority: batch",
    ]
    assert body == b"image"


@asynccontextmanager
async def serving(answers: Callable[[int], bytes]) -> AsyncIterator[tuple[Client, list[str]]]:
    """A server that gives each connection, counted from 0, its bytes and closes it; with the addresses that came."""
    came: list[str] = []
    answering: list[asyncio.Task[None] | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(writer.get_extra_info("peername")[0])
        answering.append(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answers(len(came) - 1))
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    port = Ports.free().http
    server = await asyncio.start_server(answer, LOOPBACK, port)
    async with server:
        yield Client(LOOPBACK, port), came
        await asyncio.gather(*filter(None, answering))


@pytest.mark.parametrize(("given", "answer"), [(PAGE, Answer(200)), (PAGE[:-1], Answer()), (b"", Answer())])
async def test_a_connection_that_ends_early_is_no_answer(given: bytes, answer: Answer) -> None:
    async with serving(lambda _: given) as (client, _):
        assert await client.ask(client.request(b"")) == answer


async def test_where_nobody_listens_there_is_no_answer() -> None:
    client = Client(LOOPBACK, Ports.free().http)
    assert await client.ask(client.request(b"")) == Answer()


async def test_requests_come_from_many_addresses() -> None:
    async with serving(lambda _: PAGE) as (client, came):
        await offer(client, [Stream("pages", 1000.0, client.request(b""))], 0.02)
    assert sorted(came) == sorted(SOURCES[:20])


async def test_an_open_loop_asks_as_often_as_it_says_whatever_comes_back() -> None:
    async with serving(lambda _: REFUSAL) as (client, _):
        replies = await offer(client, [Stream("pages", 200.0, client.request(b""))], 0.1)
    assert [reply.answer.status for reply in replies] == 20 * [503]
    due = sorted(reply.due_at for reply in replies)
    assert [after - before for before, after in pairwise(due)] == pytest.approx(19 * [0.005])


async def test_a_client_that_tries_again_stops_when_it_has_its_page() -> None:
    async with serving(lambda number: REFUSAL if number < 2 else PAGE) as (client, _):
        replies = await offer(client, [Stream("pages", 10.0, client.request(b""), retries=3)], 0.1)
    assert [reply.answer.status for reply in replies] == [503, 503, 200]


async def test_a_client_that_tries_again_gives_up_in_the_end() -> None:
    async with serving(lambda _: REFUSAL) as (client, _):
        replies = await offer(client, [Stream("pages", 10.0, client.request(b""), retries=3)], 0.1)
    assert len(replies) == 4


async def test_a_closed_loop_has_never_more_requests_under_way_than_clients() -> None:
    async with serving(lambda _: PAGE) as (client, _):
        replies = await ask_in_turns(client, client.request(b""), clients=3, seconds=0.1)
    moments = sorted([(one.sent_at, 1) for one in replies] + [(one.ended_at, -1) for one in replies])
    under_way = [sum(change for _, change in moments[: number + 1]) for number in range(len(moments))]
    assert 0 < max(under_way) <= 3
