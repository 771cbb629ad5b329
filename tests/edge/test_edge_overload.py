"""A gateway whose slots are all taken, on real sockets."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx
import pytest
from raw_http import Connection, Pause, exchange
from servers import gateway, log_of

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT
from tests.deployed_nginx import Nginx, nginx_is_missing, running

CALL_S = 1.0
BUSY = {"OCR_MAX_REQUESTS": "2", "OCR_MAX_WAIT_S": "0.05", "OCR_TIMEOUT_S": "30"}
HEADER_ONLY = b"POST /v1/ocr HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n"


@pytest.fixture(scope="module")
def busy_port(folder):
    with gateway(folder, call_s=CALL_S, **BUSY) as port:
        yield port


@pytest.fixture(scope="module")
def busy_nginx_port(folder, busy_port):
    if reason := nginx_is_missing():
        pytest.skip(reason)
    with running(Nginx(folder / "busy_nginx", (busy_port, busy_port))) as nginx:
        yield nginx.port


@asynccontextmanager
async def all_slots_taken(port):
    """While this lasts two pages are being read."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client:
        reading = [asyncio.create_task(client.post("/v1/ocr", content=KNOWN_PICTURE)) for _ in range(2)]
        await until_slots_are_taken(client, 2)
        yield client
        answers = await asyncio.gather(*reading)
    assert [answer.json()["pages"][0]["text"] for answer in answers] == [KNOWN_TEXT] * 2


async def until_slots_are_taken(client, number):
    for _ in range(500):
        if f"ocr_admission_slots_in_use {number}.0" in (await client.get("/metrics")).text:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{number} slots were never taken")


async def test_a_request_is_refused_before_a_byte_of_its_body_is_sent(busy_port):
    async with all_slots_taken(busy_port):
        outcome = await exchange(busy_port, HEADER_ONLY)
    assert str(outcome) == "503 overloaded; closed"
    assert outcome.answers[0].fields["retry-after"] in ("1", "2")


async def test_so_it_is_behind_nginx(busy_port, busy_nginx_port):
    async with all_slots_taken(busy_port):
        outcome = await exchange(busy_nginx_port, HEADER_ONLY)
    assert str(outcome.answers[0]) == "503 overloaded"
    assert outcome.answers[0].fields["connection"] == "close"
    assert outcome.answers[0].fields["retry-after"] in ("1", "2")


@pytest.mark.parametrize("way", ["busy_port", "busy_nginx_port"])
async def test_a_client_that_sends_its_body_all_the_same_still_gets_the_answer(busy_port, way, request):
    port = request.getfixturevalue(way)
    async with all_slots_taken(busy_port), httpx.AsyncClient(trust_env=False, timeout=30) as client:
        url = f"http://127.0.0.1:{port}/v1/ocr"
        answers = [await client.post(url, content=b"x" * 3_000_000) for _ in range(5)]
    assert [answer.json()["code"] for answer in answers] == ["overloaded"] * 5


async def test_each_refusal_is_one_line_of_the_log_and_one_count(busy_port, folder):
    async with all_slots_taken(busy_port) as client:
        before = (await client.get("/metrics")).text
        for _ in range(3):
            await exchange(busy_port, HEADER_ONLY.replace(b"Host: a", b"Host: a\r\nX-Request-Id: counted"))
        after = (await client.get("/metrics")).text
    await asyncio.sleep(0.2)  # a thread writes the log
    lines = [json.loads(line) for line in log_of(folder, busy_port).read_text().splitlines()]
    counted = [line for line in lines if line.get("request_id") == "counted" and "route" in line]
    assert [(line["status"], line["code"], line["body_bytes"]) for line in counted] == [(503, "overloaded", 0)] * 3
    series = 'ocr_http_requests_total{method="POST",route="/v1/ocr",status="503"}'
    assert value(after, series) - value(before, series) == 3


def value(text, series):
    return next((float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(series)), 0.0)


async def test_slow_uploads_keep_nobody_out(busy_port):
    header = b"POST /v1/ocr HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nx"
    slow = [await Connection.open(busy_port) for _ in range(2)]
    for connection in slow:
        await connection.send(header)
    await asyncio.sleep(0.5)
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        answer = await client.post(f"http://127.0.0.1:{busy_port}/v1/ocr", content=KNOWN_PICTURE)
        metrics = (await client.get(f"http://127.0.0.1:{busy_port}/metrics")).text
    assert answer.status_code == 200
    assert {str(await connection.outcome()) for connection in slow} == {"408 body_timeout; closed"}
    assert "ocr_admission_parked_uploads 2.0" in metrics or "ocr_admission_parked_uploads 0.0" in metrics


async def test_a_slow_upload_is_read_when_it_is_complete(busy_port):
    header = f"POST /v1/ocr HTTP/1.1\r\nHost: a\r\nContent-Length: {len(KNOWN_PICTURE)}\r\n\r\n".encode()
    half = len(KNOWN_PICTURE) // 2
    connection = await Connection.open(busy_port)
    await connection.send(header, KNOWN_PICTURE[:half], Pause(0.5), KNOWN_PICTURE[half:])
    assert str(await connection.outcome()) == "200; kept"


async def test_when_it_is_over_nothing_is_held(busy_port):
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{busy_port}", trust_env=False) as client:
        await until_slots_are_taken(client, 0)
        metrics = (await client.get("/metrics")).text
    assert "ocr_admission_pixels_in_use 0.0" in metrics
    assert "ocr_admission_parked_uploads 0.0" in metrics
