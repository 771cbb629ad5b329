"""A decoder that is killed or hangs in the middle costs its own request only."""

import io
import signal
import sys
import threading
import time

import httpx
import numpy as np
import psutil
import pytest
from PIL import Image
from servers import gateway

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has decoder processes"),
    pytest.mark.timeout(300),
]


PROMISED_S = 1.0
SLACK = 10
"""On a busy machine an ordinary request may take a good part of that; then so many of the slowest ordinary ones."""


class Service:
    """A gateway, and its decoder processes."""

    def __init__(self, port, process):
        self.url = f"http://127.0.0.1:{port}/v1/ocr"
        self._process = process
        self.answers = []

    def post(self, data):
        return httpx.post(self.url, content=data, trust_env=False, timeout=60)

    def seconds(self, data):
        """What it takes to be served."""
        started = time.monotonic()
        assert self.post(data).status_code == 200
        return time.monotonic() - started

    def begin(self, data):
        """Send it, and come back while it is being decoded; the answer goes into `answers`."""
        self.wait_until_idle()
        sending = threading.Thread(target=lambda: self.answers.append(self.post(data)))
        used = {process: process.cpu_times().user for process in self.decoders()}
        sending.start()
        while True:
            for process, before in used.items():
                if process.cpu_times().user > before + 0.03:
                    return sending, process
            time.sleep(0.005)

    def wait_until_idle(self):
        """Until the decoders are up, and have nothing to do."""
        before = None
        while before != (now := [process.cpu_times().user for process in self.decoders()]):
            before = now
            time.sleep(0.5)

    def decoders(self):
        return [child for child in self._process.children() if child.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    before = set(psutil.Process().children())
    settings = {"OCR_TIMEOUT_S": "30", "OCR_DECODER_TIMEOUT_S": "3", "OCR_DECODER_PROCESSES": "2"}
    with gateway(tmp_path_factory.mktemp("decoders"), **settings) as port:
        [process] = set(psutil.Process().children()) - before
        service = Service(port, process)
        assert service.post(small_tiff()).status_code == 200
        yield service


def small_tiff():
    return file_of(Image.new("L", (64, 64), 255), "TIFF")


def slow_file():
    """Its decoder has to work for a good part of a second."""
    noise = np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), np.uint8)
    return file_of(Image.fromarray(noise), "JPEG2000", irreversible=False)


def file_of(picture, file_type, **options):
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "the decoder ended over this file (SIGKILL)"), (signal.SIGSTOP, "took it longer than 3 s")],
)
def test_it_costs_its_own_request_only(service, number, words):
    sending, decoder = service.begin(slow_file())
    decoder.send_signal(number)
    while_it_is_gone = service.seconds(small_tiff())
    assert service.post(KNOWN_PICTURE).json()["pages"][0]["text"] == KNOWN_TEXT
    sending.join()
    after = service.seconds(small_tiff())
    answer = service.answers.pop()
    assert (answer.status_code, answer.json()["code"]) == (422, "decoder_failed")
    assert words in answer.json()["detail"]
    ordinary = max(service.seconds(small_tiff()) for _ in range(5))
    times = [f"{1000 * seconds:.0f} ms" for seconds in (while_it_is_gone, after, ordinary)]
    print("{}: the next took {}, the next after its end {}, others {}".format(signal.Signals(number).name, *times))
    assert max(while_it_is_gone, after) <= max(PROMISED_S, SLACK * ordinary)
