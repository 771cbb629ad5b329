import asyncio

import pytest
from starlette.datastructures import Headers

from gateway.deadline import Deadline
from gateway.errors import BodyTimeout, BodyTooLarge, InvalidRequest
from gateway.web.body import FAST_BYTES_PER_S, check_declared, read_all, read_chunks
from gateway.web.disconnect import ClientClosed

GONE = {"type": "http.disconnect"}


def receiving(*messages):
    waiting = list(messages)

    async def receive():
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    return receive


def chunk(body, *, more=True):
    return {"type": "http.request", "body": body, "more_body": more}


async def read(*messages, max_bytes=10, timeout_s=10.0):
    deadline = Deadline.after(timeout_s)
    return await read_all(read_chunks(receiving(*messages), max_bytes=max_bytes, deadline=deadline))


@pytest.mark.parametrize(
    ("messages", "body"),
    [
        ([chunk(b"", more=False)], b""),
        ([{"type": "http.request"}], b""),
        ([chunk(b"0123456789", more=False)], b"0123456789"),
        ([chunk(b"01234"), chunk(b""), chunk(b"56789", more=False)], b"0123456789"),
    ],
)
async def test_a_body_up_to_the_limit_is_read_whole(messages, body):
    assert await read(*messages) == body


async def test_the_first_byte_over_the_limit_ends_the_reading():
    receive = receiving(chunk(b"0123456789"), chunk(b"x"), chunk(b"never asked for"))
    with pytest.raises(BodyTooLarge, match="limit of 10 bytes"):
        await read_all(read_chunks(receive, max_bytes=10, deadline=Deadline.after(10)))
    assert (await receive())["body"] == b"never asked for"


async def test_a_body_that_stalls_times_out():
    with pytest.raises(BodyTimeout, match=r"within 0\.01 s"):
        await read(chunk(b"x"), timeout_s=0.01)


async def test_a_body_that_trickles_without_a_pause_times_out():
    async def receive():
        return chunk(b"")

    with pytest.raises(BodyTimeout):
        await read_all(read_chunks(receive, max_bytes=10, deadline=Deadline.after(0.01)))


async def test_a_slow_body_has_less_time_than_its_request():
    receive = receiving(chunk(b"x"))
    with pytest.raises(BodyTimeout, match=r"within 0\.01 s"):
        await read_all(read_chunks(receive, max_bytes=10, deadline=Deadline.after(60), slow_s=0.01))


async def test_a_body_that_comes_fast_may_take_longer():
    half = b"x" * (FAST_BYTES_PER_S // 2)
    waiting = [chunk(half), chunk(b"", more=False)]

    async def receive():
        if len(waiting) == 1:
            await asyncio.sleep(0.2)
        return waiting.pop(0)

    body = await read_all(read_chunks(receive, max_bytes=10**6, deadline=Deadline.after(60), slow_s=0.1))
    assert body == half


async def test_fast_or_not_a_body_ends_with_its_request():
    with pytest.raises(BodyTimeout, match=r"within 0\.01 s"):
        await read(chunk(b"x" * 9), timeout_s=0.01)


async def test_a_client_that_leaves_in_the_middle_is_noticed():
    with pytest.raises(ClientClosed):
        await read(chunk(b"x"), GONE)


@pytest.mark.parametrize(
    "headers", [{}, {"content-length": "0"}, {"content-length": "10"}, {"content-encoding": "Identity"}]
)
def test_a_body_within_the_limit_may_be_sent(headers):
    check_declared(Headers(headers), max_bytes=10)


@pytest.mark.parametrize(
    ("headers", "length"),
    [({}, 0), ({"content-length": "7"}, 7), ({"transfer-encoding": "chunked"}, None)],
)
def test_the_declared_length_is_known_unless_the_body_comes_in_chunks(headers, length):
    assert check_declared(Headers(headers), max_bytes=10) == length


@pytest.mark.parametrize("length", ["11", "0011111111111", "1" * 5000])
def test_a_declared_length_over_the_limit_is_refused(length):
    with pytest.raises(BodyTooLarge):
        check_declared(Headers({"content-length": length}), max_bytes=10)


@pytest.mark.parametrize("length", ["", "-1", "+1", "1e3", "0x10", "1,1", "²"])
def test_a_length_that_is_no_number_is_refused(length):
    with pytest.raises(InvalidRequest, match="Content-Length must be a whole number"):
        check_declared(Headers(raw=[(b"content-length", length.encode("latin-1"))]), max_bytes=10)


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", ""])
def test_an_encoded_body_is_refused_because_it_hides_its_size(encoding):
    with pytest.raises(InvalidRequest, match="Content-Encoding is not supported"):
        check_declared(Headers({"content-encoding": encoding}), max_bytes=10)
