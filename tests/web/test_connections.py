"""Real sockets on a real uvicorn whose app answers with the body that it has read."""

import asyncio
import hashlib
import inspect
import json
import socket
import sys
import time
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from prometheus_client import REGISTRY
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.web import connections, lingering
from gateway.web.connections import ConnectionLimits, guarded, header_fault
from gateway.web.record import record_of

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def echo(scope, receive, send):
    """Answers with the body, or at once if the path says so."""
    body, more = b"", scope["path"] != "/unread"
    while more:
        message = await receive()
        if fault := record_of(scope).broken:
            body = b"broken: " + fault.encode()
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"content-length", str(len(body)).encode())]
    if scope["path"] == "/unread":
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def large(scope, receive, send):
    """An answer that no buffer holds."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * 50_000_000, "more_body": True})
    await send({"type": "http.response.body", "body": b"."})


class Server(uvicorn.Server):
    """Uvicorn without its signals."""

    @property
    def port(self):
        return self.servers[0].sockets[0].getsockname()[1]


@asynccontextmanager
async def serving(app=echo, *, connections=100, header_bytes=1000, header_timeout_s=5.0, keep_alive_s=5):
    limits = ConnectionLimits(connections, header_bytes, header_timeout_s)
    config = uvicorn.Config(
        app, port=0, http=guarded(limits), ws="none", lifespan="off", log_config=None, timeout_keep_alive=keep_alive_s
    )
    server = Server(config)
    running = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield server
    finally:
        server.should_exit = server.force_exit = True
        await running


async def talk(server, *pieces, pause_s=0.02, until_closed=True):
    """Send pieces; everything that comes back until the server closes its side, or for a while."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    for number, piece in enumerate(pieces):
        if number:
            await asyncio.sleep(pause_s)
        writer.write(piece)
    received = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(10 if until_closed else 0.5):
            while more := await reader.read(1_000_000):
                received += more
    writer.close()
    return received


def answers(received):
    """Status and body of each answer in a stream."""
    found = []
    while received:
        header, _, received = received.partition(b"\r\n\r\n")
        lines = header.decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        length = int(fields["content-length"])
        found.append((int(lines[0].split()[1]), fields, received[:length]))
        received = received[length:]
    return found


async def statuses(server, *pieces, **choices):
    return [status for status, _, _ in answers(await talk(server, *pieces, **choices))]


async def only_answer(server, *pieces, **choices):
    [(status, fields, body)] = answers(await talk(server, *pieces, **choices))
    return status, fields, json.loads(body)


def post(body, *fields, path="/"):
    lines = [f"POST {path} HTTP/1.1", "Host: a", *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body


# What is served


async def test_a_request_is_served_and_the_connection_kept():
    async with serving() as server:
        assert await statuses(server, GET, GET, until_closed=False) == [200, 200]


async def test_a_header_that_comes_byte_by_byte_is_served():
    async with serving() as server:
        pieces = [bytes([byte]) for byte in post(b"hello", "Content-Length: 5")]
        [(status, _, body)] = answers(await talk(server, *pieces, pause_s=0, until_closed=False))
        assert (status, body) == (200, b"hello")


async def test_requests_that_are_sent_ahead_are_answered_in_order():
    async with serving() as server:
        sent = b"".join(post(body, "Content-Length: 3") for body in (b"one", b"two", b"six"))
        assert [body for _, _, body in answers(await talk(server, sent, until_closed=False))] == [
            b"one",
            b"two",
            b"six",
        ]


@pytest.mark.parametrize("split", [True, False])
async def test_an_upgrade_is_ignored_and_the_body_read(split):
    """Java's client asks for HTTP/2 with every request."""
    request = post(b"", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "Content-Length: 5")
    pieces = [request, b"hello"] if split else [request + b"hello"]
    async with serving() as server:
        received = answers(await talk(server, *pieces, GET, until_closed=False))
    assert [(status, body) for status, _, body in received] == [(200, b"hello"), (200, b"")]


async def test_a_body_after_an_upgrade_is_not_taken_for_a_request():
    request = post(GET, "Connection: Upgrade", "Upgrade: websocket", f"Content-Length: {len(GET)}")
    async with serving() as server:
        [(status, _, body)] = answers(await talk(server, request, until_closed=False))
    assert (status, body) == (200, GET)


# Headers


def request_of(size):
    line = b"GET / HTTP/1.1\r\nHost: a\r\nX: "
    return line + b"x" * (size - len(line) - 4) + b"\r\n\r\n"


async def test_a_header_of_the_largest_size_is_served():
    async with serving(header_bytes=1000) as server:
        assert await statuses(server, request_of(1000), until_closed=False) == [200]


@pytest.mark.parametrize(
    "header",
    [
        request_of(1001),
        request_of(1001)[:1000],
        b"GET /" + b"x" * 2000,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 1000 + b"\r\n",
        b"x" * 100_000,
    ],
    ids=["one byte", "not even complete", "path", "many fields", "garbage"],
)
async def test_a_larger_one_is_refused_as_soon_as_it_is_too_large(header):
    async with serving(header_bytes=1000) as server:
        status, fields, problem = await only_answer(server, header)
    assert (status, problem["code"]) in ((431, "header_too_large"), (400, "invalid_request"))
    assert fields["connection"] == "close"


async def test_a_refusal_is_a_problem_like_any_other_and_counted():
    before = REGISTRY.get_sample_value("ocr_connections_refused_total", {"code": "header_too_large"}) or 0
    async with serving() as server:
        status, fields, problem = await only_answer(server, request_of(2000))
    assert status == 431
    assert fields["content-type"] == "application/problem+json"
    assert fields["x-request-id"] == problem.pop("request_id")
    assert problem == {
        "type": "/problems/header_too_large",
        "title": "The header is too large",
        "status": 431,
        "detail": "the header has more than 1,000 bytes",
        "instance": "",
        "code": "header_too_large",
        "retryable": False,
    }
    assert REGISTRY.get_sample_value("ocr_connections_refused_total", {"code": "header_too_large"}) == before + 1


async def test_the_limit_holds_for_each_request_of_a_connection():
    async with serving() as server:
        assert await statuses(server, request_of(900), request_of(900), request_of(1100)) == [200, 200, 431]


async def test_a_large_body_does_not_count_as_header():
    async with serving() as server:
        request = post(b"x" * 300_000, "Content-Length: 300000")
        [(status, _, body)] = answers(await talk(server, request, until_closed=False))
        assert (status, len(body)) == (200, 300_000)


@pytest.mark.parametrize(
    ("version", "hosts", "fault"),
    [
        ("1.1", [b"a"], ""),
        ("1.1", [b"example.org:8080"], ""),
        ("1.1", [b"[::1]:8080"], ""),
        ("1.1", [b""], ""),
        ("1.0", [], ""),
        ("1.0", [b"a"], ""),
        ("1.1", [], "one Host field, not 0"),
        ("1.1", [b"a", b"a"], "one Host field, not 2"),
        ("1.0", [b"a", b"b"], "one Host field, not 2"),
        ("1.1", [b"a/b"], "not a host"),
        ("1.1", [b"a?b"], "not a host"),
        ("1.1", [b"a#b"], "not a host"),
        ("1.1", [b"a b"], "not a host"),
        ("1.1", [b"u@a"], "not a host"),
        ("1.1", [b"a:b"], "not a host"),
        ("1.1", [b"a\xe9"], "not a host"),
        ("2.0", [b"a"], "HTTP/2.0 is not spoken here"),
        ("0.9", [], "HTTP/0.9 is not spoken here"),
    ],
)
def test_a_request_names_one_host_and_a_version_that_is_spoken(version, hosts, fault):
    assert fault in header_fault(version, hosts)
    assert bool(fault) is bool(header_fault(version, hosts))


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"garbage\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["no host", "two hosts", "path as host", "connect", "http 2", "garbage", "tls"],
)
async def test_a_request_that_is_broken_in_its_header_is_a_problem(request_):
    async with serving() as server:
        status, _, problem = await only_answer(server, request_)
    assert (status, problem["code"]) == (400, "invalid_request")


# Time


async def test_a_header_that_trickles_is_answered_and_cut():
    async with serving(header_timeout_s=0.2) as server:
        status, _, problem = await only_answer(server, *([b"GET / HTTP/1.1\r\n"] + [b"a"] * 20), pause_s=0.02)
    assert (status, problem["code"]) == (408, "header_timeout")


async def test_a_silent_connection_is_closed_in_silence():
    async with serving(header_timeout_s=0.1) as server:
        assert await talk(server) == b""


async def test_a_connection_that_only_sends_empty_lines_is_closed_in_silence():
    async with serving(header_timeout_s=0.1) as server:
        assert await talk(server, b"\r\n", b"\r\n") == b""
        [(status, _, _)] = answers(await talk(server, GET, b"\r\n"))
        assert status == 200


async def test_a_later_header_has_as_long_as_the_first():
    async with serving(header_timeout_s=0.2) as server:
        assert await statuses(server, GET, b"GET /", pause_s=0.3) == [200, 408]


async def test_a_connection_without_a_request_is_closed_after_a_while():
    async with serving(keep_alive_s=0.1) as server:
        assert await statuses(server, GET) == [200]


async def test_an_answer_that_takes_longer_than_a_header_may_is_not_cut():
    async def slow(scope, receive, send):
        await asyncio.sleep(0.3)
        await echo(scope, receive, send)

    async with serving(slow, header_timeout_s=0.1) as server:
        assert await statuses(server, GET, b"\r\n", until_closed=False) == [200]


async def test_a_client_that_does_not_fetch_its_answer_is_cut(monkeypatch):
    monkeypatch.setattr(connections, "FLUSH_S", 0.1)
    async with serving(large) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1)
        writer.transport.pause_reading()
        writer.write(GET)
        async with asyncio.timeout(10):
            while not server.server_state.connections:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
            while server.server_state.connections:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
        writer.close()


# Broken bodies


@pytest.mark.parametrize(
    "body", [b"5\r\nhello\r\nZZ\r\n", b"5\r\nhelloX\r\n", b"-1\r\n", b"5;\nhello\r\n", b"1000000000000000000000\r\n"]
)
async def test_a_body_that_is_broken_raises_where_it_is_read(body):
    async with serving() as server:
        received = answers(await talk(server, post(body, "Transfer-Encoding: chunked")))
    assert [(status, body) for status, _, body in received] == [(200, b"broken: the request is not valid HTTP/1.1")]


async def test_garbage_after_a_request_that_is_being_answered_waits_for_its_answer_and_ends_the_connection():
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(scope, receive, send):
        started.set()
        await go_on.wait()
        await echo(scope, receive, send)

    async with serving(slow) as server:
        talking = asyncio.create_task(talk(server, GET, b"garbage\r\n\r\n" * 3))
        await started.wait()
        await asyncio.sleep(0.1)
        go_on.set()
        [(status, fields, _)] = answers(await talking)
    assert (status, fields["connection"]) == (200, "close")


# The end of a connection


async def test_one_connection_too_many_is_told_so():
    async with serving(connections=1) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        status, fields, problem = await only_answer(server, GET)
        assert (status, problem["code"]) == (503, "overloaded")
        assert fields["retry-after"] in ("1", "2")
        writer.close()


async def test_open_connections_are_counted():
    async with serving() as server:
        before = REGISTRY.get_sample_value("ocr_connections")
        await talk(server, GET, until_closed=False)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.sleep(0.05)
        assert REGISTRY.get_sample_value("ocr_connections") == before + 1
        writer.close()


async def test_an_answer_before_the_body_is_not_lost_although_the_client_goes_on_sending():
    """Without lingering the connection would be reset, and the answer with it."""
    async with serving() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(post(b"x" * 1_000_000, "Content-Length: 5000000", path="/unread"))
        await asyncio.sleep(0.1)
        writer.write(b"x" * 4_000_000)
        await writer.drain()
        [(status, fields, _)] = answers(await reader.read(-1))
        assert (status, fields["connection"]) == (200, "close")
        writer.close()


async def trickle(writer):
    for _ in range(1000):
        writer.write(b"x" * 1000)
        await writer.drain()
        await asyncio.sleep(0.01)


async def test_a_client_that_goes_on_sending_for_too_long_is_cut(monkeypatch):
    monkeypatch.setattr(lingering, "LINGER_S", 0.1)
    async with serving() as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(post(b"x", "Content-Length: 5000000", path="/unread"))
        with pytest.raises(ConnectionError):
            await trickle(writer)
        writer.close()


async def test_a_client_that_leaves_after_its_answer_ends_the_connection_at_once():
    async with serving() as server:
        await talk(server, post(b"x", "Content-Length: 500", path="/unread"))
        await asyncio.sleep(0.1)
        assert not server.server_state.connections


# uvicorn, as it was when this was written

PINNED = {
    HttpToolsProtocol.__init__: "eefda6875ebd",
    HttpToolsProtocol.connection_made: "c8b2230c91b4",
    HttpToolsProtocol.connection_lost: "1b99df458c3b",
    HttpToolsProtocol.data_received: "e74b210e3c04",
    HttpToolsProtocol.pause_writing: "942adeb76e2e",
    HttpToolsProtocol.resume_writing: "5211cfcc7289",
    HttpToolsProtocol.on_message_begin: "453ed691ca9d",
    HttpToolsProtocol.on_headers_complete: "f48ec6bbe75d",
    HttpToolsProtocol.on_message_complete: "87e5be1faf50",
    HttpToolsProtocol.on_response_complete: "4dfe4f257f50",
    HttpToolsProtocol.shutdown: "3fc90dd3d36a",
    RequestResponseCycle.send: "089bd8725f6a",
    RequestResponseCycle.receive: "e7a392a4367a",
}


def fingerprint(function):
    """Of a function's source, whatever its layout."""
    return hashlib.sha256("".join(inspect.getsource(function).split()).encode()).hexdigest()[:12]


@pytest.mark.parametrize("function", PINNED, ids=lambda function: function.__qualname__)
def test_uvicorn_is_the_one_that_guarded_connection_was_written_for(function):
    """If it is not: read what changed, mend GuardedConnection if need be, and write the new fingerprint here."""
    assert fingerprint(function) == PINNED[function]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel does not tell")
async def test_what_a_connection_has_waited_to_be_taken_counts_for_its_deadline():
    ages = []

    async def age(scope, receive, send):
        ages.append(time.monotonic() - record_of(scope).arrived_at)
        await echo(scope, receive, send)

    async with serving(age) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(GET)
            time.sleep(0.3)  # noqa: ASYNC251 - a loop that is busy with others
            client.setblocking(False)
            await asyncio.get_running_loop().sock_recv(client, 1000)
            await asyncio.get_running_loop().sock_sendall(client, GET)
            await asyncio.get_running_loop().sock_recv(client, 1000)
    assert ages[0] >= 0.29
    assert ages[1] < ages[0]
