import asyncio
import logging
import re
import time
from contextlib import asynccontextmanager
from hashlib import sha256

import httpx
import pytest
from prometheus_client import REGISTRY
from web_fakes import LIMITS, FakePipeline, app_with, chunk, client_of, send, services_with

from gateway.errors import Overloaded, UnreadableImage
from gateway.web.admission import Admission, Door
from gateway.web.clients import ApiClient, Clients
from gateway.web.gate import Gate, GateLimits
from gateway.web.record import RequestRecord
from gateway.web.routes import WORK, create_router
from gateway.web.tickets import Priority

DISCONNECT = {"type": "http.disconnect"}
POST = [("content-length", "5")]
KEY = sha256(b"key").hexdigest()


class Service:
    """An app behind an admission whose gate a test can look at."""

    def __init__(self, pipeline=None, *, clients=(), outage="", **limits):
        chosen = {"slots": 2, "waiting": 2, "wait_s": 0.02, "pixels": 200_000_000, "parked_bytes": 1000} | limits
        self.gate = Gate(GateLimits(**chosen))
        self.outage = outage
        self.back = nobody
        door = Door(WORK, LIMITS, 50_000_000, lambda: self.outage, self.wait_for_return)
        self.pipeline = pipeline or FakePipeline()
        self.admission = Admission(door, self.gate, Clients(clients))
        self.app = app_with(self.pipeline, admission=self.admission)

    async def wait_for_return(self):
        await self.back()

    async def post(self, content=b"12345", **request):
        async with client_of(self.app) as client:
            return await client.post("/v1/ocr", content=content, **request)

    async def refuse(self, headers=(), query=b"", **scope):
        """Send a request whose body must not be asked for; its answer's start and problem."""
        messages = [chunk(b"12345")]
        sent, left = await send(self.app, messages, headers=[*headers, *POST], query=query, **scope)
        assert left == messages, "the body was read"
        return sent[0], httpx.Response(sent[0]["status"], content=sent[1]["body"]).json()

    @asynccontextmanager
    async def full(self):
        """While this lasts all slots are taken by requests that are being worked on."""
        gate = self.pipeline.gate = asyncio.Event()
        slots = self.gate.slots(30.0)
        tasks = [asyncio.create_task(self.post()) for _ in range(slots)]
        await until(lambda: self.gate.slots_in_use == slots)
        yield
        gate.set()
        assert {answer.status_code for answer in await asyncio.gather(*tasks)} == {200}

    @property
    def held(self):
        return self.gate.slots_in_use, self.gate.pixels_in_use, self.gate.parked


async def nobody():
    """Who comes back in an outage."""


async def until(happened):
    for _ in range(1000):
        if happened():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it did not happen")


def header(start, name):
    return dict(start["headers"]).get(name.encode(), b"").decode()


def counted(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_every_route_that_takes_work_is_guarded():
    posts = {
        route.path
        for route in create_router(services_with()).routes
        if "POST" in (getattr(route, "methods", None) or ())
    }
    assert posts == WORK


async def test_a_request_is_taken_counted_and_gives_everything_back():
    service, before = Service(), counted("ocr_admission_admitted_total", priority="interactive")
    assert (await service.post()).status_code == 200
    assert counted("ocr_admission_admitted_total", priority="interactive") == before + 1
    assert service.held == (0, 0, 0)


async def test_other_addresses_need_no_permit():
    service = Service(slots=1)
    async with service.full(), client_of(service.app) as client:
        service.outage = "down"
        statuses = [(await client.get(path)).status_code for path in ("/livez", "/metrics", "/v1/models", "/v1/ocr")]
    assert statuses == [200, 200, 200, 405]


# Refusals


async def test_an_overloaded_service_refuses_before_the_body_and_closes():
    service = Service()
    async with service.full():
        start, problem = await service.refuse()
    assert (start["status"], problem["code"], problem["stage"]) == (503, "overloaded", "admission")
    assert header(start, "connection") == "close"
    assert header(start, "retry-after") in ("1", "2")
    assert header(start, "x-request-id") == problem["request_id"]


async def test_a_short_overload_is_waited_out():
    service = Service(wait_s=5.0)
    async with service.full():
        waiting = asyncio.create_task(service.post())
        await asyncio.sleep(0.01)
        assert service.gate.waiting(Priority.INTERACTIVE) == 1
    assert (await waiting).status_code == 200


async def test_a_request_that_comes_as_an_outage_ends_is_answered():
    service = Service(outage="Triton does not answer")

    async def return_soon():
        await asyncio.sleep(0.01)
        service.outage = ""

    service.back = return_soon
    assert (await service.post()).status_code == 200


async def test_an_outage_is_not_waited_out_beyond_the_deadline():
    service = Service(outage="Triton does not answer")
    service.back = asyncio.Event().wait
    _, problem = await service.refuse(query=b"timeout=0.02")
    assert problem["code"] == "backend_unavailable"


async def test_an_outage_is_said_at_once_with_its_reason_and_ends_at_once():
    service = Service(outage="inference_timeout: Triton did not answer")
    start, problem = await service.refuse()
    assert (start["status"], problem["code"]) == (503, "backend_unavailable")
    assert problem["detail"] == "inference_timeout: Triton did not answer"
    service.outage = ""
    assert (await service.post()).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ([("content-length", "10001")], 413, "body_too_large"),
        ([("content-encoding", "gzip")], 400, "invalid_request"),
        ([("x-priority", "urgent")], 400, "invalid_request"),
    ],
)
async def test_what_the_headers_tell_is_refused_before_the_body(headers, status, code):
    service = Service()
    async with service.full():
        start, problem = await service.refuse(headers=headers)
    assert (start["status"], problem["code"]) == (status, code)


async def test_a_refusal_is_one_line_in_the_log_and_counted(caplog):
    caplog.set_level(logging.DEBUG)
    service, before = Service(outage="down"), counted("ocr_admission_refused_total", reason="backend_unavailable")
    await service.refuse()
    [line] = [record for record in caplog.records if record.name.startswith("gateway")]
    assert (line.route, line.status, line.code, line.body_bytes) == ("/v1/ocr", 503, "backend_unavailable", 0)
    assert list(line.stages_s) == ["admission"]
    assert counted("ocr_admission_refused_total", reason="backend_unavailable") == before + 1


# Clients


def client(**choices):
    return ApiClient(name="team", key_sha256=(KEY,), **choices)


async def test_without_its_key_a_client_is_refused_before_the_body():
    start, problem = await Service(clients=[client()]).refuse()
    assert (start["status"], problem["code"]) == (401, "unauthenticated")
    assert header(start, "www-authenticate") == 'Bearer realm="ocr"'


async def test_a_client_that_asks_for_more_than_it_may_is_refused_before_the_body():
    service = Service(clients=[client(priority="batch")])
    start, problem = await service.refuse(headers=[("x-api-key", "key"), ("x-priority", "interactive")])
    assert (start["status"], problem["code"]) == (403, "forbidden")


async def test_a_known_client_is_served_and_named_in_the_log(caplog):
    caplog.set_level(logging.INFO)
    answer = await Service(clients=[client()]).post(headers={"authorization": "Bearer key"})
    assert answer.status_code == 200
    [line] = [record for record in caplog.records if hasattr(record, "route")]
    assert line.client == "team"
    assert "key" not in str([value for name, value in vars(line).items() if name != "msg"]).replace("'key", "")


async def test_a_client_over_its_quota_is_told_when_to_come_back():
    service = Service(clients=[client(requests_per_minute=60, burst=2)])
    answers = [await service.post(headers={"x-api-key": "key"}) for _ in range(2)]
    start, problem = await service.refuse(headers=[("x-api-key", "key")])
    assert [answer.headers["ratelimit"] for answer in answers] == ['"requests";r=1;t=1', '"requests";r=0;t=2']
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"requests";q=2;w=2'}
    assert (start["status"], problem["code"]) == (429, "rate_limited")
    assert 0 < problem["retry_after_ms"] <= 1000
    assert header(start, "retry-after") == "1"
    assert header(start, "ratelimit") == '"requests";r=0;t=2'


async def test_one_client_over_its_quota_does_not_bother_another():
    other = ApiClient(name="other", key_sha256=(sha256(b"other").hexdigest(),))
    service = Service(clients=[client(requests_per_minute=1), other])
    mine = [(await service.post(headers={"x-api-key": "key"})).status_code for _ in range(5)]
    theirs = [(await service.post(headers={"x-api-key": "other"})).status_code for _ in range(5)]
    assert mine == [200, 429, 429, 429, 429]
    assert theirs == [200] * 5


async def test_batch_is_refused_where_interactive_requests_are_taken():
    service = Service(slots=2)
    service.pipeline.gate = asyncio.Event()
    first = asyncio.create_task(service.post())
    await until(lambda: service.pipeline.calls)
    _, problem = await service.refuse(headers=[("x-priority", "batch")])
    assert problem["code"] == "overloaded"
    second = asyncio.create_task(service.post())
    service.pipeline.gate.set()
    assert [(await task).status_code for task in (first, second)] == [200, 200]


# What a permit is for


async def test_the_wait_is_a_stage_of_the_request():
    answer = await Service().post()
    assert answer.headers["server-timing"].startswith("admission;dur=")


@pytest.mark.parametrize(
    ("headers", "guess"),
    [
        ([("content-length", "5")], 15),
        ([("content-length", "9000")], 27_000),
        ([("transfer-encoding", "chunked")], 3_000_000),
    ],
)
async def test_pixels_are_guessed_from_the_length_until_the_header_of_the_image_has_been_read(headers, guess):
    service = Service(FakePipeline(gate=asyncio.Event(), pixels=123))
    held = []

    opening = service.pipeline.open

    async def noting_open(*request, **circumstances):
        held.append(service.gate.pixels_in_use)
        return await opening(*request, **circumstances)

    service.pipeline.open = noting_open
    request = asyncio.create_task(send(service.app, [chunk(b"12345")], headers=headers))
    await until(lambda: service.pipeline.calls)
    assert [*held, service.gate.pixels_in_use] == [guess, 123]
    service.pipeline.gate.set()
    await request


async def test_an_image_that_grows_beyond_what_there_is_is_refused_in_time():
    service = Service(FakePipeline(pixels=40_000_000), slots=10)
    others = [service.gate.ask(pixels=45_000_000, priority=Priority.INTERACTIVE, timeout_s=30.0) for _ in range(3)]
    service.pipeline.pixels = 50_000_000
    answer = await service.post(params={"timeout": "0.5"})
    assert (answer.status_code, answer.json()["code"], answer.json()["stage"]) == (503, "overloaded", "admission")
    assert "connection" not in answer.headers, "the body was read, so the connection can be used again"
    for ticket in others:
        service.gate.leave(ticket)
    assert service.held == (0, 0, 0)


@pytest.mark.parametrize("query", [b"timeout=0.05", b"timeout=5e-2"])
async def test_a_request_with_little_time_waits_a_fifth_of_it(query):
    service = Service(wait_s=5.0)
    async with service.full():
        _, problem = await service.refuse(query=query)
    waited_ms = re.search(r"no room within (\d+) ms", problem["detail"]).group(1)
    assert 0 < int(waited_ms) <= 10


@pytest.mark.parametrize("query", [b"timeout=x", b"timeout=-1", b"timeout=1e9", b"timeout=nan", b"timeout="])
async def test_a_timeout_that_makes_no_sense_counts_as_none_and_is_refused_later(query):
    sent, _ = await send(Service().app, [chunk(b"12345")], headers=POST, query=query)
    assert sent[0]["status"] == 400


# Nothing leaks


async def test_nothing_leaks_when_a_request_fails():
    service = Service(FakePipeline(UnreadableImage("no")))
    assert (await service.post()).status_code == 422
    assert service.held == (0, 0, 0)


async def test_nothing_leaks_when_there_is_a_bug():
    service = Service(FakePipeline(KeyError("x")))
    assert (await service.post()).status_code == 500
    assert service.held == (0, 0, 0)


async def test_nothing_leaks_when_the_client_leaves_while_it_is_worked_on():
    service = Service(FakePipeline(gate=asyncio.Event()))
    await send(service.app, [chunk(b"12345"), DISCONNECT], headers=POST)
    assert service.pipeline.cancelled == 1
    assert service.held == (0, 0, 0)


async def test_nothing_leaks_when_the_client_leaves_in_the_middle_of_its_body():
    service = Service()
    await send(service.app, [chunk(b"12", more=True), DISCONNECT], headers=POST)
    assert service.held == (0, 0, 0)


@pytest.mark.parametrize("moment", ["waiting", "uploading", "working"])
async def test_nothing_leaks_when_a_request_is_cancelled(moment):
    service = Service(FakePipeline(gate=asyncio.Event()), wait_s=5.0, slots=1)
    blocker = None
    if moment == "waiting":
        blocker = service.gate.ask(pixels=1, priority=Priority.INTERACTIVE, timeout_s=30.0)
    messages = [] if moment == "uploading" else [chunk(b"12345")]
    request = asyncio.create_task(send(service.app, messages, headers=POST))
    await asyncio.sleep(0.02)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    if blocker:
        service.gate.leave(blocker)
    assert service.held == (0, 0, 0)
    assert service.gate.waiting(Priority.INTERACTIVE) == 0


async def test_a_stalled_upload_keeps_nobody_out():
    service = Service(slots=1, wait_s=5.0)
    stalled = asyncio.create_task(send(service.app, [chunk(b"1", more=True)], headers=POST))
    await asyncio.sleep(0.01)
    assert (await service.post()).status_code == 200
    assert service.held == (0, 0, 1)
    stalled.cancel()
    await asyncio.gather(stalled, return_exceptions=True)
    assert service.held == (0, 0, 0)


async def test_the_metrics_show_what_is_given_out():
    service = Service()
    async with service.full(), client_of(service.app) as client:
        text = (await client.get("/metrics")).text
    assert "ocr_admission_slots_in_use 2.0" in text
    assert "ocr_admission_slots 2.0" in text
    assert "ocr_admission_pixels_in_use 2e+06" in text
    assert 'ocr_admission_waiting{line="batch"} 0.0' in text


async def test_a_request_whose_connection_has_waited_for_half_of_its_time_is_refused():
    service = Service()
    record = RequestRecord(arrived_at=time.monotonic() - 3)
    scope = {"type": "http", "headers": [], "query_string": b"timeout=5"}
    with pytest.raises(Overloaded, match=r"wait 3\.\d s until it was taken"):
        await service.admission.admit(scope, record)
    scope["query_string"] = b"timeout=7"
    assert await service.admission.admit(scope, record)
