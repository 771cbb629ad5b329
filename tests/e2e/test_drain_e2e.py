"""A gateway on a real Triton that is told to end while pages are read and an upload has stalled."""

import asyncio
import os
import signal
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from rendered_pages import lines_of_small_page, png, small_page

from gateway.local import GatewayProcess, PairOptions, base_url
from triton_models.catalog import DEFAULT_MODEL_SET
from triton_models.server import Ports

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CLIENTS = 4
STALLED = b"POST /v1/ocr?timeout=3 HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000\r\n\r\nhalf of it"


@contextmanager
def gateway_process(address):
    """The process and its options."""
    options = PairOptions("triton", "127.0.0.1", Ports.free().http, DEFAULT_MODEL_SET, Path())
    settings = {"OCR_PORT": str(options.port), "OCR_TRITON_ADDRESSES": address, "OCR_DRAIN_DELAY_S": "2"}
    with GatewayProcess(settings, options) as process:
        process.wait_ready(180.0)
        yield process, options


async def read_pages(url, outcomes, *, keep_alive):
    """Ask for one page after the other until the connection is refused; counts what came of each."""
    limits = httpx.Limits(max_keepalive_connections=int(keep_alive))
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, trust_env=False) as client:
        for number in range(1000):
            page = small_page(number % 4)
            try:
                answer = await client.post("/v1/ocr", content=png(page))
            except httpx.TransportError as error:
                outcomes[type(error).__name__] += 1
                return
            right = answer.json()["pages"][0]["text"].splitlines() == lines_of_small_page(number % 4)
            outcomes[answer.status_code, right] += 1


async def test_no_request_is_lost_when_a_busy_gateway_is_told_to_end(triton):
    outcomes = Counter()
    with gateway_process(triton.grpc_address) as (process, options):
        clients = [read_pages(base_url(options), outcomes, keep_alive=client % 2) for client in range(CLIENTS)]
        reading = asyncio.gather(*clients)
        await asyncio.sleep(1)
        stalled, writer = await asyncio.open_connection(options.host, options.port)
        writer.write(STALLED)
        before = outcomes.total()
        os.kill(process.pid, signal.SIGTERM)
        await reading
        assert outcomes.total() > before + CLIENTS, "pages were read while it drained"
        assert outcomes.pop("ConnectError") == CLIENTS
        assert set(outcomes) == {(200, True)}
        assert (await stalled.readline()).startswith(b"HTTP/1.1 408")
        while process.exit_code() is None:  # noqa: ASYNC110 - a process can't be awaited here
            await asyncio.sleep(0.05)
        assert process.exit_code() == 0
        writer.close()
