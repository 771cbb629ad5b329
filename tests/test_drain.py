"""A gateway process that is told to end, with raw sockets around it and a Triton of a few lines behind it."""

import asyncio
import os
import signal
import socket
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest
from fake_triton import FakeTriton, blanks, input_of, listening
from made_configs import detection_config, recognition_config

from gateway.drain import any_waiting
from gateway.inference.probes import REQUEST_ID

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")

PICTURE = cv2.imencode(".png", np.zeros((200, 200, 3), np.uint8))[1].tobytes()
ASK_READY = b"GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n"
LARGE_ANSWER = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: gateway\r\n\r\n"
STALLED = b"POST /v1/ocr%b HTTP/1.1\r\nHost: gateway\r\nContent-Length: 1000\r\n\r\nhalf of it"
MINE = "a-request-of-the-test"


@dataclass
class Detector:
    """Finds nothing on any page. Calls for the request called `MINE` wait for the gate; the canary's wait for ever, and
    probes, which keep the server in rotation, don't wait.

    So the gateway is neither ready nor, as far as it knows, out of order.

    Attributes:
        known, busy: set once such a call waits, the canary's or ours.
    """

    gate: asyncio.Event
    known: asyncio.Event
    busy: asyncio.Event

    async def __call__(self, request):
        if request.id == MINE:
            self.busy.set()
            await self.gate.wait()
        elif request.id != REQUEST_ID:
            self.known.set()
            await asyncio.Event().wait()
        return {"probability_map": np.zeros_like(input_of(request)[..., 0])}


@dataclass
class Gateway:
    """The process, its address and what it has logged."""

    process: asyncio.subprocess.Process
    port: int
    detector: Detector
    log_file: Path

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self):
        return self.log_file.read_text()

    def tell(self, number):
        self.process.send_signal(number)

    async def logged(self, words):
        while words not in self.log:  # noqa: ASYNC110 - a file can't be awaited
            await asyncio.sleep(0.01)

    async def connect(self, data):
        """A connection on which these bytes have been sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        await writer.drain()
        return reader, writer

    async def read_picture(self):
        """The answer to a picture; it comes once the gate is open."""
        async with httpx.AsyncClient(base_url=self.url, timeout=60) as client:
            return await client.post("/v1/ocr", content=PICTURE, headers={"X-Request-Id": MINE})


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@asynccontextmanager
async def running(folder, **settings):
    """A gateway that listens and knows its models."""
    detector = Detector(asyncio.Event(), asyncio.Event(), asyncio.Event())
    configs = {one.name: one for one in (detection_config(), recognition_config())}
    triton = FakeTriton(configs, {"text_detection": detector, "text_recognition": blanks})
    port = free_port()
    async with listening(triton) as address:
        own = {
            "OCR_PORT": str(port),
            "OCR_TRITON_ADDRESSES": address,
            "OCR_LOG_FORMAT": "text",
            "OCR_CANARY_TIMEOUT_S": "3600",
        }
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "gateway", "run", env={**os.environ, **own, **settings}, stderr=log
            )
        gateway = Gateway(process, port, detector, folder / "log")
        try:
            await detector.known.wait()
            await gateway.logged("running on")
            yield gateway
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def answer_on(reader):
    """Status line and headers of the next answer, and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return head, await reader.readexactly(length)


async def test_while_it_drains_it_is_not_ready_but_serves_and_closes_each_connection(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="3") as gateway:
        gateway.detector.gate.set()
        old, writer = await gateway.connect(ASK_READY)
        assert b"backend_unavailable" in (await answer_on(old))[1]
        gateway.tell(signal.SIGTERM)
        await gateway.logged("draining: requests are taken for 3 s more")
        writer.write(ASK_READY)
        head, problem = await answer_on(old)
        assert "503 service unavailable" in head
        assert "connection: close" in head
        assert b'"code":"draining"' in problem
        assert await old.read() == b""
        page = await gateway.read_picture()
        assert (page.status_code, page.headers["Connection"]) == (200, "close")
        async with httpx.AsyncClient(base_url=gateway.url) as client:
            assert "ocr_draining 1.0" in (await client.get("/metrics")).text
        writer.close()
        assert await gateway.process.wait() == 0
        assert "closed" in gateway.log


async def test_the_port_for_operators_listens_besides_and_closes_with_the_other(tmp_path):
    ops_port = free_port()
    async with running(tmp_path, OCR_DRAIN_DELAY_S="0", OCR_OPS_PORT=str(ops_port)) as gateway:
        async with httpx.AsyncClient() as client:
            assert "ocr_draining 0.0" in (await client.get(f"http://127.0.0.1:{ops_port}/metrics")).text
            assert (await client.get(f"{gateway.url}/metrics")).status_code == 404
        gateway.tell(signal.SIGTERM)
        assert await gateway.process.wait() == 0


async def test_a_request_in_flight_is_answered_after_the_listener_has_closed(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="0") as gateway:
        asking = asyncio.create_task(gateway.read_picture())
        await gateway.detector.busy.wait()
        gateway.tell(signal.SIGTERM)
        await gateway.logged("closing: no new connections; requests in flight: 1")
        with pytest.raises(ConnectionRefusedError):
            await gateway.connect(b"")
        gateway.detector.gate.set()
        page = await asking
        assert (page.status_code, page.headers["Connection"]) == (200, "close")
        assert await gateway.process.wait() == 0


async def test_a_stalled_upload_is_answered_at_its_deadline_and_holds_nothing_up_beyond(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="0") as gateway:
        reader, writer = await gateway.connect(STALLED % b"?timeout=1")
        gateway.tell(signal.SIGTERM)
        head, problem = await answer_on(reader)
        assert "408 request timeout" in head
        assert b'"code":"body_timeout"' in problem
        assert await gateway.process.wait() == 0
        writer.close()


@pytest.mark.parametrize(
    "sent", [b"", b"GET /readyz HTTP/1.1\r\nHos", ASK_READY], ids=["nothing", "half a header", "a whole request"]
)
async def test_a_connection_without_a_request_does_not_hold_up_the_end(tmp_path, sent):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="0") as gateway:
        reader, writer = await gateway.connect(sent)
        if sent == ASK_READY:
            await answer_on(reader)
        gateway.tell(signal.SIGTERM)
        assert await reader.read() == b""
        assert await gateway.process.wait() == 0
        writer.close()


async def test_a_client_that_does_not_read_its_answers_is_cut(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="0", OCR_TIMEOUT_S="1", OCR_MAX_TIMEOUT_S="1") as gateway:
        with socket.create_connection(("127.0.0.1", gateway.port)) as deaf:
            deaf.sendall(LARGE_ANSWER * 50)
            await gateway.logged("GET /docs/{asset} 200")
            gateway.tell(signal.SIGTERM)
            assert await gateway.process.wait() == 0
        assert "cut connections, whose clients don't read: 1" in gateway.log


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_skips_the_delay(tmp_path, second):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="3600") as gateway:
        gateway.tell(signal.SIGTERM)
        await gateway.logged("draining")
        gateway.tell(second)
        assert await gateway.process.wait() == 0


async def test_ctrl_c_has_no_delay(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="3600") as gateway:
        gateway.tell(signal.SIGINT)
        assert await gateway.process.wait() == 0


async def test_one_signal_more_kills_whatever_is_in_flight(tmp_path):
    async with running(tmp_path, OCR_DRAIN_DELAY_S="3600") as gateway:
        asking = asyncio.create_task(gateway.read_picture())
        await gateway.detector.busy.wait()
        for words in ("draining", "closing"):
            gateway.tell(signal.SIGTERM)
            await gateway.logged(words)
        gateway.tell(signal.SIGTERM)
        assert await gateway.process.wait() == -signal.SIGTERM
        with pytest.raises(httpx.TransportError):
            await asking


def test_whoever_waits_to_be_accepted_is_seen():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not any_waiting([listener])
        with socket.create_connection(listener.getsockname()):
            assert any_waiting([listener])
            listener.accept()[0].close()
            assert not any_waiting([listener])
