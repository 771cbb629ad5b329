"""A Triton that hangs (SIGSTOP): its kernel still takes connections, but nothing answers."""

import asyncio
import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import httpx
import numpy as np
import pytest
from gateways import connected, running_gateway
from rendered_pages import lines_of_small_page, png, small_page
from served_models import EDITED

from gateway.errors import InferenceTimeout

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PAGES = [png(small_page(number)) for number in range(8)]
MOST_LATE_S = 0.1
# Nobody sends faster than this by hand, and a burst would measure how quickly its requests are accepted.
BETWEEN_REQUESTS_S = 0.03


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict
    late_s: float

    @property
    def outcome(self):
        return self.status, self.body.get("code")


async def ask(client, number, timeout_s):
    """Have a small page read; its deadline is counted from before it was sent."""
    page = PAGES[number % len(PAGES)]
    deadline = time.monotonic() + timeout_s
    response = await client.post("/v1/ocr", params={"timeout": timeout_s, "min_side": 0}, content=page)
    return Answer(response.status_code, response.json(), time.monotonic() - deadline)


async def send_slowly(client, timeouts, until=lambda sent: False):
    """Send a request for each timeout, or until enough have been."""
    sent = []
    for number, timeout_s in enumerate(timeouts):
        sent.append(asyncio.create_task(ask(client, number, timeout_s)))
        await asyncio.sleep(BETWEEN_REQUESTS_S)
        if until(sent):
            break
    return sent


def some_are_answered(requests):
    return any(request.done() for request in requests)


@contextmanager
def stopped(triton):
    os.kill(triton.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(triton.pid, signal.SIGCONT)


def client_of(url):
    # A connection for each request: one that is idle for five seconds is closed, perhaps just when it is used again.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=limits)


async def test_every_request_in_flight_answers_503_at_its_deadline_and_the_first_one_after_the_hang_is_read(
    own_triton, measured
):
    with running_gateway(own_triton.grpc_address) as url:
        async with client_of(url) as client:
            sent = await send_slowly(client, cycle([1.5, 2, 2.5, 3]), until=some_are_answered)
            with stopped(own_triton):
                in_flight = [request for request in sent if not request.done()]
                in_flight += await send_slowly(client, [0.5, 1, 1.5, 2, 3, 6])
                answers = await asyncio.gather(*in_flight)
            after = await ask(client, 0, timeout_s=30)
    latest_ms = 1000 * max(answer.late_s for answer in answers)
    measured(f"hang: {len(answers)} requests in flight, the latest answer {latest_ms:.0f} ms after its deadline")
    outcomes = {answer.outcome for answer in answers}
    assert (503, "inference_timeout") in outcomes
    # While nothing is finished, admission lets fewer in.
    assert outcomes <= {(503, "inference_timeout"), (503, "overloaded")}
    assert latest_ms <= 1000 * MOST_LATE_S
    assert after.status == 200
    assert after.body["pages"][0]["text"].splitlines() == lines_of_small_page(0)


async def hang_until_disconnected(backend, picture):
    """Call until the old connection has been given up and a try to connect has failed, too."""
    for _ in range(2):
        with pytest.raises(InferenceTimeout, match="no sign of life"):
            await backend.detect(picture, timeout_s=30)


@pytest.mark.parametrize("attempt", range(3))
async def test_a_call_that_meets_a_server_in_the_moment_it_goes_on_is_answered(own_triton, attempt):
    """The connection has to be made anew first, and gRPC fails calls at once until it stands."""
    picture = np.full((96, 96, 3), 255, np.uint8)
    async with connected(own_triton, EDITED) as backend:
        await backend.detect(picture, timeout_s=30)
        with stopped(own_triton):
            await hang_until_disconnected(backend, picture)
        assert (await backend.detect(picture, timeout_s=30)).shape == (96, 96)
