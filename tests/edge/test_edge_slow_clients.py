"""Two hundred clients each of three slow kinds (as slowhttptest makes them), and what others notice."""

import asyncio
import time

import httpx
import pytest
from raw_http import Connection
from servers import gateway

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT

EACH = 200
PAGES = 40
OPENED_PER_S = 150
HEADER = b"POST /v1/ocr HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n"
KINDS = {"silent": b"", "in its header": HEADER, "in its body": HEADER + b"\r\n" + b"x" * 1000}
USUAL_TIMES = {"OCR_HEADER_TIMEOUT_S": "10", "OCR_BODY_TIMEOUT_S": "30", "OCR_TIMEOUT_S": "60"}


@pytest.fixture(scope="module")
def patient_port(folder):
    with gateway(folder, **USUAL_TIMES) as port:
        yield port


async def attack(port, opened):
    """Open all of them at the rate of slowhttptest, and send each a byte now and then; cancel to stop."""
    connections = []
    try:
        for start in [start for _ in range(EACH) for start in KINDS.values()]:
            connections.append(await Connection.open(port))
            await connections[-1].send(start)
            await asyncio.sleep(1 / OPENED_PER_S)
        opened.set()
        while True:
            for connection in connections:
                await connection.send(b"x" if connection.started else b"")
            await asyncio.sleep(1)
    finally:
        for connection in connections:
            connection.close()


async def read_pages(port):
    """Read pages one after the other; the texts, and the seconds that each took."""
    texts, seconds = [], []
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        for _ in range(PAGES):
            started = time.perf_counter()
            answer = await client.post(f"http://127.0.0.1:{port}/v1/ocr", content=KNOWN_PICTURE)
            seconds.append(time.perf_counter() - started)
            texts.append(answer.json()["pages"][0]["text"] if answer.is_success else answer.text)
    return texts, sorted(seconds)


async def test_all_others_are_served(patient_port):
    _, before = await read_pages(patient_port)
    opened = asyncio.Event()
    attacking = asyncio.create_task(attack(patient_port, opened))
    texts, _ = await read_pages(patient_port)
    await opened.wait()
    more_texts, during = await read_pages(patient_port)
    attacking.cancel()
    for name, seconds in (("before", before), ("during", during)):
        print(f"{name}: median {1000 * seconds[PAGES // 2]:.0f} ms, longest {1000 * seconds[-1]:.0f} ms")
    assert texts + more_texts == [KNOWN_TEXT] * 2 * PAGES
