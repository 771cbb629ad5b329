"""A Triton that hangs (SIGSTOP): its kernel still takes connections, but nothing answers."""

import asyncio
import time
from dataclasses import dataclass
from itertools import cycle

import httpx
import pytest
from gateways import running_gateway
from rendered_pages import lines_of_small_page, png, small_page
from stopping import stopped

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PAGES = [png(small_page(number)) for number in range(8)]
MOST_LATE_S = 0.1
# Nobody sends faster than this by hand, and a burst would measure how quickly its requests are accepted.
BETWEEN_REQUESTS_S = 0.03
# A request whose lines Triton had read before it was stopped needs it no more, and gets its page.
TO_FINISH_S = 0.3


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


def client_of(url):
    # A connection for each request: one that is idle for five seconds is closed, perhaps just when it is used again.
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=limits)


async def readiness(client):
    return (await client.get("/readyz")).status_code


async def until_not_ready(client):
    began_at = time.monotonic()
    while await readiness(client) == 200:  # noqa: ASYNC110 - that is how a load balancer learns it
        await asyncio.sleep(0.01)
    return time.monotonic() - began_at


async def test_a_hang_costs_every_request_a_503_in_time_and_is_over_with_the_next_request(own_triton, measured):
    with running_gateway(own_triton.grpc_address) as url:
        async with client_of(url) as client:
            sent = await send_slowly(client, cycle([1.5, 2, 2.5, 3]), until=some_are_answered)
            with stopped(own_triton.pid):
                await asyncio.sleep(TO_FINISH_S)
                in_flight = [request for request in sent if not request.done()]
                in_flight += await send_slowly(client, [1.5, 2, 2.5, 3])
                noticed_s = await until_not_ready(client)
                answers = await asyncio.gather(*in_flight)
                refused = [await ask(client, number, timeout_s=10) for number in range(20)]
            next_one = await ask(client, 0, timeout_s=30)
            assert await readiness(client) == 200
    latest_ms = 1000 * max(answer.late_s for answer in answers)
    slowest_ms = 1000 * max(10 + answer.late_s for answer in refused)
    noticed_s += TO_FINISH_S + 4 * BETWEEN_REQUESTS_S
    measured(f"hang: not ready after {noticed_s:.2f} s, the next request takes {30 + next_one.late_s:.2f} s")
    measured(f"hang: {len(answers)} requests in flight, the latest answer {latest_ms:.0f} ms after its deadline")
    measured(f"hang: requests that come later are refused within {slowest_ms:.0f} ms")
    # While nothing is finished, admission lets fewer in.
    assert {answer.outcome for answer in answers} <= {
        (503, "inference_timeout"),
        (503, "backend_unavailable"),
        (503, "overloaded"),
    }
    assert latest_ms <= 1000 * MOST_LATE_S
    assert {answer.outcome for answer in refused} == {(503, "backend_unavailable")}
    assert next_one.status == 200
    assert next_one.body["pages"][0]["text"].splitlines() == lines_of_small_page(0)
