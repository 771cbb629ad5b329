"""Both clients against scripted answers: what they send, how long they wait, when they give up."""

import inspect
import json

import httpx
import numpy as np
import pytest

from gateway.client import AsyncClient, Client, NoAnswer, Problem
from gateway.documents import PageResult
from gateway.ocr.elements import Page, PageWarning, Picture, TextLine, TextRegion, Transcription
from gateway.web.schemas import json_response, ocr_out
from gateway.web.services import ServedModels

QUAD = np.array([[0, 0], [40, 0], [40, 10], [0, 10]], np.float32)
LINE = TextLine(TextRegion(QUAD, QUAD, 0.9), Transcription("hello", 0.8))
PAGE = Page(Picture("PNG", "RGB", 50, 20), 50, 20, (LINE,), (PageWarning("line_split", "cut"),))
ANSWER = json_response(ocr_out([], [PageResult(1, 1, PAGE)], ServedModels("some", ()), request_id="r")).body
OVERLOADED = {
    "code": "overloaded",
    "detail": "too much to do",
    "request_id": "r1",
    "retryable": True,
    "retry_after_ms": 1500,
}


def problem(status, content, **headers):
    headers = {"content-type": "application/problem+json", **headers}
    return httpx.Response(status, content=json.dumps(content), headers=headers)


class Script:
    """Answers, or errors to raise, one after the other; the last one for ever. Keeps requests and waits."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.requests = []
        self.waits = []

    def _answer(self, request):
        self.requests.append(request)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return httpx.Response(outcome.status_code, content=outcome.content, headers=outcome.headers)

    def sync(self, **choices):
        return Client("http://gateway", transport=httpx.MockTransport(self._answer), sleep=self.waits.append, **choices)

    def asynchronous(self, **choices):
        async def sleep(seconds):
            self.waits.append(seconds)

        return AsyncClient("http://gateway", transport=httpx.MockTransport(self._answer), sleep=sleep, **choices)


@pytest.fixture(params=["sync", "asynchronous"])
def ask(request):
    """Calls a method of one of the clients on a script."""

    async def ask(script, method, *arguments, choices=None, **options):
        client = getattr(script, request.param)(**(choices or {}))
        try:
            result = getattr(client, method)(*arguments, **options)
            return await result if inspect.isawaitable(result) else result
        finally:
            closed = client.close()
            if inspect.isawaitable(closed):
                await closed

    return ask


async def test_an_answer_is_typed(ask):
    answer = await ask(Script(httpx.Response(200, content=ANSWER)), "read", b"data")
    assert answer.pages[0].lines[0].text == "hello"
    assert answer.warnings[0].code == "line_split"


async def test_the_file_is_the_body_and_options_are_the_query(ask):
    script = Script(httpx.Response(200, content=ANSWER))
    await ask(script, "read", b"data", choices={"timeout_s": 20}, level="word", reread=False, min_score=0.5)
    (request,) = script.requests
    assert (request.method, request.url.path, request.content) == ("POST", "/v1/ocr", b"data")
    query = dict(request.url.params)
    assert float(query.pop("timeout")) == pytest.approx(20, abs=1)
    assert query == {"level": "word", "reread": "false", "min_score": "0.5", "format": "json"}


async def test_key_and_priority_are_in_the_header(ask):
    script = Script(httpx.Response(200, content=ANSWER))
    await ask(script, "read", b"data", choices={"api_key": "secret", "batch": True})
    assert script.requests[0].headers["authorization"] == "Bearer secret"
    assert script.requests[0].headers["x-priority"] == "batch"


async def test_another_format_is_bytes(ask):
    script = Script(httpx.Response(200, content=b"%PDF-1.5"))
    assert await ask(script, "write", b"data", "pdf") == b"%PDF-1.5"
    assert script.requests[0].url.params["format"] == "pdf"


async def test_who_is_told_to_wait_does_and_then_twice_as_long(ask):
    script = Script(*[problem(503, OVERLOADED)] * 3, httpx.Response(200, content=ANSWER))
    await ask(script, "read", b"data")
    assert script.waits == [1.5, 3.0, 6.0]
    assert len(script.requests) == 4


async def test_no_wait_is_longer_than_half_a_minute(ask):
    script = Script(*[problem(429, {**OVERLOADED, "retry_after_ms": 20_000})] * 3, httpx.Response(200, content=ANSWER))
    await ask(script, "read", b"data", choices={"timeout_s": 100})
    assert script.waits == [20.0, 30.0, 30.0]


async def test_a_proxys_retry_after_counts_as_well(ask):
    script = Script(httpx.Response(503, headers={"retry-after": "7"}), httpx.Response(200, content=ANSWER))
    await ask(script, "read", b"data")
    assert script.waits == [7.0]


async def test_who_would_wait_beyond_the_deadline_gives_up_with_what_the_service_said(ask):
    script = Script(problem(503, {**OVERLOADED, "retry_after_ms": 9000}))
    with pytest.raises(Problem, match="overloaded: too much to do") as raised:
        await ask(script, "read", b"data", choices={"timeout_s": 5})
    assert script.waits == []
    error = raised.value
    assert (error.status, error.code, error.request_id, error.retry_after_s) == (503, "overloaded", "r1", 9.0)


@pytest.mark.parametrize(
    "answer",
    [
        problem(400, {"code": "invalid_request", "detail": "no", "request_id": "r", "retryable": False}),
        problem(422, {"code": "unreadable_image", "detail": "no", "request_id": "r", "retryable": False}),
        problem(504, {"code": "deadline_exceeded", "detail": "no", "request_id": "r", "retryable": True}),
        httpx.Response(502, content=b"<html>bad gateway</html>"),
    ],
)
async def test_what_waiting_does_not_mend_is_raised_at_once(ask, answer):
    script = Script(answer)
    with pytest.raises(Problem) as raised:
        await ask(script, "read", b"data")
    assert raised.value.status == answer.status_code
    assert len(script.requests) == 1


async def test_a_broken_connection_is_made_again(ask):
    script = Script(
        httpx.ConnectError("refused"), httpx.RemoteProtocolError("cut"), httpx.Response(200, content=ANSWER)
    )
    await ask(script, "read", b"data")
    assert script.waits == [0.5, 1.0]


async def test_a_gateway_that_never_comes_is_no_answer(ask):
    with pytest.raises(NoAnswer, match="ConnectError: refused") as raised:
        await ask(Script(httpx.ConnectError("refused")), "read", b"data", choices={"timeout_s": 0.4})
    assert isinstance(raised.value.__cause__, httpx.ConnectError)


async def test_a_silent_gateway_is_not_asked_again(ask):
    script = Script(httpx.ReadTimeout("late"))
    with pytest.raises(NoAnswer):
        await ask(script, "read", b"data")
    assert len(script.requests) == 1


async def test_an_answer_that_is_no_gateways_is_no_answer(ask):
    with pytest.raises(NoAnswer, match="does not answer as a gateway"):
        await ask(Script(httpx.Response(200, content=b"<html>hello</html>")), "read", b"data")


async def test_clients_close_what_they_opened():
    script = Script(httpx.Response(200, content=ANSWER))
    with script.sync() as client:
        client.read(b"data")
    with pytest.raises(RuntimeError, match="closed"):
        client.read(b"data")
    async with script.asynchronous() as client:
        await client.read(b"data")
    with pytest.raises(RuntimeError, match="closed"):
        await client.read(b"data")


def test_both_clients_have_the_same_methods_and_arguments():
    def described(client):
        methods = inspect.getmembers(client, inspect.isfunction)
        return {name: list(inspect.signature(one).parameters) for name, one in methods if not name.startswith("_")}

    assert described(Client) == described(AsyncClient)
    assert list(inspect.signature(Client).parameters) == list(inspect.signature(AsyncClient).parameters)
