"""Load is offered as said, timed from when it was due, and summed up truthfully."""

import asyncio
import json
from contextlib import suppress
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from loadtest.gpu.clients import shares
from loadtest.gpu.http_client import Answer, Connection, read_answer
from loadtest.gpu.load import NO_ANSWER, Client, Offer, Sample, arrivals, percentile_ms, stage_seconds, summarize

TIMING = {"server-timing": "decode;dur=2.0, detect;dur=10.5"}


class FakePoster:
    """Answers after a while, and remembers how many requests were under way at once."""

    def __init__(self, delay_s: float, answer: Answer | Exception) -> None:
        self.bodies: list[bytes] = []
        self.under_way = self.most_under_way = 0
        self.closed = 0
        self._delay_s = delay_s
        self._answer = answer

    async def post(self, path: str, body: bytes) -> Answer:
        self.bodies.append(body)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(self._delay_s)
        self.under_way -= 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        self.closed += 1


def sample(seconds: float = 0.1, status: int = 200, due_s: float = 0.0) -> Sample:
    return Sample(due_s, seconds, status, {"detect": 0.01} if status == 200 else {})


async def run(offer: Offer, poster: FakePoster, pages: tuple[bytes, ...] = (b"a", b"b")) -> list[Sample]:
    client = Client(offer, pages, lambda port: poster)
    await client.run()
    return client.samples


async def test_a_closed_loop_keeps_so_many_requests_under_way():
    poster = FakePoster(0.01, Answer(200, TIMING, b""))
    samples = await run(Offer((1,), 0.1, concurrency=3), poster)
    assert poster.most_under_way == poster.closed == 3
    assert {one.status for one in samples} == {200}
    assert samples[0].stages == {"decode": 0.002, "detect": 0.0105}


async def test_an_open_loop_sends_when_it_is_due_however_slow_the_answers_are():
    poster = FakePoster(0.3, Answer(200, {}, b""))
    due = arrivals(50, 0.4, seed=1)
    samples = await run(Offer((1,), 0.4, rate=50, seed=1), poster)
    assert sorted(one.due_s for one in samples) == due
    assert poster.most_under_way > 5


async def test_pages_are_sent_in_turn():
    poster = FakePoster(0.0, Answer(200, {}, b""))
    await run(Offer((1,), 0.02, concurrency=1), poster)
    assert poster.bodies[:4] == [b"a", b"b", b"a", b"b"]


@pytest.mark.parametrize("failure", [ConnectionResetError(), EOFError()])
async def test_a_broken_connection_is_a_sample_without_an_answer(failure):
    samples = await run(Offer((1,), 0.01, concurrency=1), FakePoster(0.005, failure))
    assert {one.status for one in samples} == {NO_ANSWER}


async def test_a_request_is_given_up_when_its_time_is_over():
    samples = await run(Offer((1,), 0.01, concurrency=1, timeout_s=0.05), FakePoster(5.0, Answer(200, {}, b"")))
    assert [one.status for one in samples] == [NO_ANSWER]
    assert samples[0].seconds < 4.0


def test_arrivals_are_the_same_for_a_seed_and_have_exactly_the_rate():
    assert arrivals(10, 5.0, seed=3) == arrivals(10, 5.0, seed=3) != arrivals(10, 5.0, seed=4)
    assert len(arrivals(50, 10.0, seed=3)) == 500
    assert arrivals(50, 0.0, seed=3) == []


def test_arrivals_come_as_irregularly_as_those_of_a_poisson_process():
    due = arrivals(100, 50.0, seed=3)
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert 0.0 <= due[0] <= due[-1] < 50.0
    assert pstdev(gaps) / fmean(gaps) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("times", "share", "expected"),
    [
        ([], 0.5, None),
        ([0.2], 0.95, 200.0),
        ([0.1, 0.2, 0.3, 0.4], 0.5, 200.0),
        ([number / 100 for number in range(1, 101)], 0.95, 950.0),
    ],
)
def test_a_percentile_is_a_time_that_was_measured(times, share, expected):
    assert percentile_ms(times, share) == expected


def test_a_summary_of_nothing_has_no_times():
    summary = summarize([], 2.0)
    assert (summary.images_per_s, summary.p95_ms, summary.statuses) == (0.0, None, {})


def test_a_summary_counts_pages_up_to_the_last_answer_and_times_pages_alone():
    summary = summarize([sample(0.1), sample(0.3), sample(0.01, 503), sample(4.0, NO_ANSWER)], 2.0)
    assert summary.images_per_s == 0.5  # two pages in four seconds
    assert summary.p99_ms == 300.0
    assert summary.statuses == {"0": 1, "200": 2, "503": 1}
    assert summary.stages_ms == {"detect": 10.0}


def test_no_timing_has_no_stages():
    assert stage_seconds("") == {}


def test_an_offer_is_divided_among_processes():
    assert [share.rate for share in shares(Offer((1,), 1.0, rate=30), 3)] == [10, 10, 10]
    assert [share.concurrency for share in shares(Offer((1,), 1.0, concurrency=4), 3)] == [2, 1, 1]
    assert len(shares(Offer((1,), 1.0, concurrency=1), 3)) == 1
    assert len({share.seed for share in shares(Offer((1,), 1.0, rate=3), 3)}) == 3


async def test_an_answer_is_read_to_its_declared_end():
    reader = asyncio.StreamReader()
    reader.feed_data(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}HTTP/1.1 200")
    answer = await read_answer(reader)
    assert answer == Answer(503, {"content-length": "2", "retry-after": "1"}, b"{}")


async def test_a_connection_is_kept_until_the_server_closes_it():
    connections = 0
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        with suppress(asyncio.IncompleteReadError):
            await answer_two(reader, writer)
        writer.close()
        await writer.wait_closed()
        if connections == 2:
            ended.set()

    async def answer_two(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for close in (False, True):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            body = await reader.readexactly(int(head.partition("Content-Length: ")[2].split()[0]))
            answer = json.dumps({"bytes": len(body)}).encode()
            closing = b"Connection: close\r\n" if close else b""
            writer.write(b"HTTP/1.1 200 OK\r\n" + closing + b"Content-Length: %d\r\n\r\n" % len(answer) + answer)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        with Connection("127.0.0.1", server.sockets[0].getsockname()[1]) as connection:
            bodies = [(await connection.post("/v1/ocr", b"x" * count)).body for count in (0, 3, 5)]
        await ended.wait()
    assert [json.loads(body) for body in bodies] == [{"bytes": 0}, {"bytes": 3}, {"bytes": 5}]
    assert connections == 2
