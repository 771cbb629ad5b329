"""PDFs whose cost shows only while they are drawn: their process is stopped, and nobody else notices."""

import io
import sys
import time

import httpx
import psutil
import pytest
from bombs import slow_bombs
from PIL import Image
from servers import gateway

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has decoder processes"),
    pytest.mark.timeout(300),
]

LIMITS = {"OCR_TIMEOUT_S": "60", "OCR_DECODER_TIMEOUT_S": "1", "OCR_DECODER_MEMORY_BYTES": "1700000000"}
GROWTH_BYTES = 30_000_000
"""Of the gateway itself, beyond the body."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    before = set(psutil.Process().children())
    with gateway(tmp_path_factory.mktemp("slow"), **LIMITS) as port:
        [process] = set(psutil.Process().children()) - before
        with httpx.Client(trust_env=False, timeout=60, base_url=f"http://127.0.0.1:{port}") as client:
            yield client, process


@pytest.mark.parametrize("bomb", slow_bombs(), ids=lambda bomb: bomb.name)
def test_it_is_stopped_or_drawn_in_bounded_time_and_memory_and_others_are_served(service, bomb):
    client, process = service
    before, started = process.memory_info().rss, time.monotonic()
    answer = client.post("/v1/ocr", content=bomb.body)
    seconds, growth = time.monotonic() - started, process.memory_info().rss - before
    code = answer.json().get("code", "")
    print(f"{bomb.name}: {len(bomb.body):,} bytes, {seconds:.1f} s, {growth / 1e6:.1f} MB, {code or 'drawn'}")
    assert code in bomb.codes
    assert growth <= GROWTH_BYTES + len(bomb.body)
    assert client.post("/v1/ocr", content=KNOWN_PICTURE).json()["pages"][0]["text"] == KNOWN_TEXT
    assert client.post("/v1/ocr", content=fax()).status_code == 200


def fax():
    """A file that needs a decoder process, too."""
    file = io.BytesIO()
    Image.new("L", (64, 64), 255).save(file, "TIFF")
    return file.getvalue()
