import asyncio
import logging

import pytest
from web_fakes import FakePipeline, app_with, chunk, client_of, post, send

from gateway import metrics
from gateway.errors import UnsupportedImage
from gateway.web.middleware import CatchBugs, CloseUnread, CloseWhileDraining, WatchRequests, is_sane_id, severity

DISCONNECT = {"type": "http.disconnect"}


def request_lines(caplog):
    return [record for record in caplog.records if hasattr(record, "route")]


@pytest.fixture(autouse=True)
def _log_everything(caplog):
    caplog.set_level(logging.DEBUG)


async def test_an_answered_request_leaves_one_line_with_what_it_was(caplog):
    await post(content=b"\x89PNG secret")
    [line] = request_lines(caplog)
    assert line.levelno == logging.INFO
    assert (line.method, line.route, line.status, line.code) == ("POST", "/v1/ocr", 200, None)
    assert (line.lines, line.warnings, line.body_bytes) == (1, ("line_split",), 11)
    assert line.answer_bytes > 300
    assert list(line.stages_s) == ["decode"]
    assert 0 <= line.stages_s["decode"] <= line.duration_s
    assert line.getMessage().startswith("POST /v1/ocr 200 in ")


async def test_neither_image_nor_text_nor_options_nor_path_get_into_the_log(caplog):
    await post(content=b"secret-image", params={"secret-option": "secret-value"})
    await post(content=b"secret-image")
    async with client_of(app_with()) as client:
        await client.get("/secret-path")
    everything = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("gateway"))
    assert "secret" not in everything
    assert "wörld" not in everything


async def test_a_refused_request_leaves_one_line_with_its_code(caplog):
    await post(FakePipeline(UnsupportedImage("no")), content=b"x")
    [line] = request_lines(caplog)
    assert (line.status, line.code, line.lines) == (415, "unsupported_image", None)


async def test_a_bug_leaves_one_line_about_the_request(caplog):
    await post(FakePipeline(KeyError("x")), content=b"x")
    [line] = request_lines(caplog)
    assert (line.status, line.code, line.route) == (500, "internal", "/v1/ocr")


async def test_a_client_that_left_leaves_one_line_and_is_counted(caplog):
    counter = metrics.REQUESTS.labels("/v1/ocr", "POST", 499)
    before = counter._value.get()
    await send(app_with(FakePipeline(gate=asyncio.Event())), [chunk(b"x"), DISCONNECT])
    [line] = request_lines(caplog)
    assert (line.status, line.code) == (499, "client_closed")
    assert counter._value.get() == before + 1


async def test_a_request_that_the_server_cancels_leaves_one_line(caplog):
    request = asyncio.create_task(send(app_with(FakePipeline(gate=asyncio.Event())), [chunk(b"x")]))
    await asyncio.sleep(0.05)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    [line] = request_lines(caplog)
    assert (line.route, line.status) == ("/v1/ocr", 500)
    assert metrics.REQUESTS_IN_FLIGHT._value.get() == 0


async def test_probes_that_go_well_are_logged_only_for_debugging(caplog):
    async with client_of(app_with(draining=True)) as client:
        for path in ("/livez", "/metrics", "/readyz"):
            await client.get(path)
    assert [(line.route, line.levelno) for line in request_lines(caplog)] == [
        ("/livez", logging.DEBUG),
        ("/metrics", logging.DEBUG),
        ("/readyz", logging.INFO),
    ]


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.parametrize(
    ("sent", "noted"),
    [
        (TRACE, TRACE),
        ("", None),
        ("secret", None),
        (TRACE.upper(), None),
        (TRACE + "-more", None),
        (TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32), None),
    ],
)
async def test_a_line_names_the_trace_that_the_client_sent_if_it_is_a_valid_one(caplog, sent, noted):
    await post(content=b"x", headers={"traceparent": sent})
    [line] = request_lines(caplog)
    assert line.traceparent == noted


@pytest.mark.parametrize(
    ("route", "status", "code", "level"),
    [
        ("/v1/ocr", 200, None, logging.INFO),
        ("/v1/ocr", 415, "unsupported_image", logging.INFO),
        ("/v1/ocr", 503, "overloaded", logging.INFO),
        ("/v1/ocr", 503, "draining", logging.INFO),
        ("/v1/ocr", 504, "deadline_exceeded", logging.INFO),
        ("/v1/ocr", 503, "backend_unavailable", logging.WARNING),
        ("/v1/ocr", 502, "inference_failed", logging.WARNING),
        ("/v1/ocr", 500, "internal", logging.ERROR),
        ("/livez", 200, None, logging.DEBUG),
        ("/readyz", 503, "backend_unavailable", logging.WARNING),
    ],
)
def test_severity_says_whether_somebody_should_look(route, status, code, level):
    assert severity(route, status, code) == level


async def test_bytes_of_bodies_are_counted():
    received, sent = (counter.labels("/v1/ocr")._value for counter in (metrics.REQUEST_BYTES, metrics.RESPONSE_BYTES))
    before = received.get(), sent.get()
    answer = await post(content=b"12345")
    assert (received.get(), sent.get()) == (before[0] + 5, before[1] + len(answer.content))


async def test_the_route_label_is_the_template_or_unmatched(caplog):
    async with client_of(app_with()) as client:
        for path in ("/problems/internal", "/problems/nothing", "/docs/favicon.png", "/openapi.json", "/x/1", "/x/2"):
            await client.get(path)
        await client.delete("/v1/ocr")
    assert [line.route for line in request_lines(caplog)] == [
        "/problems/{code}",
        "/problems/{code}",
        "/docs/{asset}",
        "/openapi.json",
        "unmatched",
        "unmatched",
        "/v1/ocr",
    ]


async def test_an_invented_method_does_not_become_a_label(caplog):
    await send(app_with(), [chunk(b"")], method="BREW")
    [line] = request_lines(caplog)
    assert line.method == "other"


async def test_requests_are_counted_timed_and_their_stages_observed():
    count = metrics.REQUESTS.labels("/v1/ocr", "POST", 200)._value
    stage = metrics.STAGE_SECONDS.labels("decode")
    before = count.get(), stage._sum.get()
    await post(content=b"x")
    assert count.get() == before[0] + 1
    assert stage._sum.get() > before[1]
    assert metrics.REQUESTS_IN_FLIGHT._value.get() == 0


async def test_requests_under_way_are_shown():
    class Watching(FakePipeline):
        async def read(self, *args, **kwargs):
            self.calls.append(metrics.REQUESTS_IN_FLIGHT._value.get())
            return self.outcome

    pipeline = Watching()
    await post(pipeline, content=b"x")
    assert pipeline.calls == [1]
    assert metrics.REQUESTS_IN_FLIGHT._value.get() == 0


@pytest.mark.parametrize("request_id", ["a", "0f4f9e1c-4d7f", "svc/job.7:page=3+x@y_z", "x" * 128])
async def test_a_sane_request_id_is_kept(request_id):
    response = await post(content=b"x", headers={"x-request-id": request_id})
    assert response.headers.get_list("x-request-id") == [request_id]
    assert response.json()["request_id"] == request_id


@pytest.mark.parametrize("request_id", ["", "x" * 129, "a b", 'a"b', "a\tb", "é"])
async def test_any_other_request_id_is_replaced(request_id):
    response = await post(content=b"x", headers={"x-request-id": request_id.encode()})
    assert is_sane_id(response.headers["x-request-id"])
    assert response.headers["x-request-id"] != request_id


async def test_every_answer_carries_a_request_id():
    async with client_of(app_with(FakePipeline(KeyError("x")))) as client:
        answers = [
            await client.get("/nothing"),
            await client.get("/v1/ocr"),
            await client.post("/v1/ocr", content=b"x"),
        ]
    assert [answer.status_code for answer in answers] == [404, 405, 500]
    assert all(answer.headers["x-request-id"] == answer.json()["request_id"] for answer in answers)


@pytest.mark.parametrize(
    ("path", "headers", "closes"),
    [
        ("/nothing", [("content-length", "5")], True),
        ("/nothing", [("transfer-encoding", "chunked")], True),
        ("/nothing", [("content-length", "0")], False),
        ("/nothing", [], False),
        ("/v1/ocr", [("content-length", "5")], False),
    ],
)
async def test_an_answer_before_the_body_was_read_ends_the_connection(path, headers, closes):
    sent, _ = await send(app_with(), [chunk(b"12345")], headers=headers, path=path)
    assert ((b"connection", b"close") in sent[0]["headers"]) is closes


@pytest.mark.parametrize("draining", [False, True])
async def test_while_the_service_drains_every_answer_ends_its_connection(draining):
    app = CloseWhileDraining(app_with(), draining=lambda: draining)
    sent, _ = await send(app, [chunk(b"")], path="/livez", method="GET")
    assert ((b"connection", b"close") in sent[0]["headers"]) is draining


async def test_a_bug_after_the_answer_began_is_not_answered_twice():
    async def break_off(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("x")

    sent = []

    async def collect(message):
        sent.append(message)

    with pytest.raises(KeyError):
        await CatchBugs(break_off)({"type": "http"}, None, collect)
    assert [message["type"] for message in sent] == ["http.response.start"]


async def test_lifespan_events_pass_by(caplog):
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    await WatchRequests(CloseUnread(CatchBugs(app)))({"type": "lifespan"}, None, None)
    assert seen == ["lifespan"]
    assert request_lines(caplog) == []
