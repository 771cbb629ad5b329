"""Small requests that ask for a lot: each is refused with the right problem, at next to no cost."""

import sys
import threading
from pathlib import Path

import httpx
import psutil
import pytest
from bombs import bombs
from servers import gateway

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="measures as Linux does"),
    pytest.mark.timeout(300),
]

CPU_MS = 20
GROWTH_BYTES = 2_000_000
TIMES = 10
"""How often each is sent, because the clock of a process has steps of 10 ms."""
ROUNDS = 3
"""The cheapest counts: a bomb costs what it costs each time, while a thread's first work costs its arena once."""


class Watched:
    """A gateway and its decoder processes, from outside."""

    def __init__(self, port, process, client):
        self.url = f"http://127.0.0.1:{port}/v1/ocr"
        self._process = process
        self.client = client

    def send(self, bomb):
        response = self.client.post(self.url, content=bomb.body, headers={"content-type": bomb.content_type})
        return response.status_code, response.json().get("code", "")

    def cpu_s(self):
        """Of all, also of those that have ended."""
        times = [process.cpu_times() for process in self._all()]
        ended = self._process.cpu_times()
        return sum(one.user + one.system for one in times) + ended.children_user + ended.children_system

    def forget_peaks(self):
        for process in self._all():
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    def growth_bytes(self):
        """How much more than now each had at its peak."""
        return max(peak_bytes(process.pid) - process.memory_info().rss for process in self._all())

    def rss(self):
        return sum(process.memory_info().rss for process in self._all())

    def _all(self):
        return [self._process, *self._process.children()]


def peak_bytes(pid):
    [line] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    # One decoder, for another that comes up meanwhile would be measured, too.
    settings = {"OCR_CANARY_INTERVAL_S": "3600", "OCR_TIMEOUT_S": "30", "OCR_DECODER_PROCESSES": "1"}
    before = set(psutil.Process().children())
    with gateway(tmp_path_factory.mktemp("bombs"), **settings) as port:
        [process] = set(psutil.Process().children()) - before
        with httpx.Client(trust_env=False, timeout=60) as client:
            watched = Watched(port, process, client)
            for _ in range(20):
                client.post(watched.url, content=KNOWN_PICTURE)
            yield watched


@pytest.mark.parametrize("bomb", bombs(), ids=lambda bomb: bomb.name)
def test_a_bomb_costs_next_to_nothing(watched, bomb):
    codes = {watched.send(bomb)[1] for _ in range(2)}
    assert codes <= set(bomb.codes)
    rounds = [costs(watched, bomb) for _ in range(ROUNDS)]
    cpu_ms, growth = (min(costs) for costs in zip(*rounds, strict=True))
    print(f"{bomb.name}: {len(bomb.body):,} bytes, {cpu_ms:.1f} ms, {growth / 1e6:.2f} MB")
    assert cpu_ms <= CPU_MS
    assert growth <= GROWTH_BYTES + len(bomb.body)


def costs(watched, bomb):
    """What one costs: milliseconds of the processor, and bytes of all together at their peak or for good."""
    rss, cpu_s = watched.rss(), watched.cpu_s()
    watched.forget_peaks()
    for _ in range(TIMES):
        watched.send(bomb)
    return 1000 * (watched.cpu_s() - cpu_s) / TIMES, max(watched.growth_bytes(), watched.rss() - rss)


def test_healthy_traffic_beside_them_is_served(watched):
    stop = threading.Event()

    def attack():
        while not stop.is_set():
            for bomb in bombs():
                watched.send(bomb)

    attackers = [threading.Thread(target=attack) for _ in range(2)]
    for attacker in attackers:
        attacker.start()
    try:
        with httpx.Client(trust_env=False, timeout=60) as client:
            answers = [client.post(watched.url, content=KNOWN_PICTURE) for _ in range(30)]
    finally:
        stop.set()
        for attacker in attackers:
            attacker.join()
    assert {answer.json()["pages"][0]["text"] for answer in answers} == {KNOWN_TEXT}
