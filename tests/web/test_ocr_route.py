import asyncio
from base64 import b64encode
from time import monotonic

import pytest
from web_fakes import FakePipeline, app_with, chunk, client_of, post, send

from gateway.ocr.elements import Page, Picture
from gateway.ocr.options import PageOptions
from gateway.web.services import RequestLimits

DATA = b"\x89PNG and so on"
BASE64 = b64encode(DATA).decode()

KINDS = [
    {"content": DATA},
    {"content": DATA, "headers": {"content-type": "image/png"}},
    {"content": DATA, "headers": {"content-type": "application/x-www-form-urlencoded"}},
    {"content": DATA, "headers": {"content-type": ";;;é".encode("latin-1")}},
    {"files": {"file": ("a.png", DATA, "image/png")}},
    {"files": {"file": (None, DATA)}},
    {"json": {"image": BASE64}},
    {"json": {"image": f"data:image/png;base64,{BASE64}"}},
    {"content": f'{{"image": "{BASE64}"}}', "headers": {"content-type": "Application/JSON; charset=utf-8"}},
]


@pytest.mark.parametrize("request_", KINDS)
async def test_each_kind_of_body_brings_the_same_bytes_and_the_defaults(request_):
    pipeline = FakePipeline()
    response = await post(pipeline, **request_)
    assert response.status_code == 200
    assert pipeline.data == DATA
    assert pipeline.options == PageOptions()


@pytest.mark.parametrize(
    "request_",
    [
        {"content": DATA, "params": {"min_score": "0.25", "reread": "false"}},
        {"files": {"file": DATA}, "data": {"min_score": "0.25", "reread": "false"}},
        {"files": {"file": DATA}, "data": {"min_score": "0.25"}, "params": {"reread": "false"}},
        {"json": {"image": BASE64, "min_score": 0.25, "reread": False}},
        {"json": {"image": BASE64, "min_score": 0.25}, "params": {"reread": "false"}},
    ],
)
async def test_options_may_stand_in_query_form_and_json(request_):
    pipeline = FakePipeline()
    assert (await post(pipeline, **request_)).status_code == 200
    assert pipeline.options.recognition.min_score == 0.25
    assert pipeline.options.recognition.reread is False


@pytest.mark.parametrize(
    "request_",
    [
        {"files": {"file": DATA}, "data": {"min_score": "0.25"}},
        {"json": {"image": BASE64, "min_score": 0.25}},
    ],
)
async def test_the_same_option_in_two_places_is_refused(request_):
    response = await post(params={"min_score": "0.25"}, **request_)
    assert response.status_code == 400
    assert "'min_score' is given 2 times (query and " in response.json()["detail"]


async def test_the_answer():
    response = await post(content=DATA, headers={"x-request-id": "order-66"})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"] == "order-66"
    assert response.headers["server-timing"].startswith("decode;dur=")
    assert response.json() == {
        "request_id": "order-66",
        "model_set": "ppocrv6-small",
        "models": [
            {"name": "text_detection", "kind": "detection", "version": "1"},
            {"name": "text_recognition", "kind": "recognition", "version": "2"},
        ],
        "files": [{"number": 1, "format": "TIFF", "pages": 1}],
        "pages": [
            {
                "file": 1,
                "number": 1,
                "width": 200,
                "height": 100,
                "text": "hello, wörld",
                "lines": [
                    {
                        "quad": [[10.0, 20.0], [110.3, 20.0], [110.0, 44.0], [10.0, 44.0]],
                        "text": "hello, wörld",
                        "score": 0.9877,
                        "detection_score": 0.9123,
                        "turned": 180,
                        "source": "ocr",
                    }
                ],
                "paragraphs": [],
                "orientation": {"turned": 0, "skew": 0.0},
                "image": {
                    "format": "JPEG",
                    "mode": "RGB",
                    "width": 100,
                    "height": 200,
                    "orientation_applied": True,
                    "frames": 1,
                    "paper": None,
                    "scaled": 0.5123,
                },
            }
        ],
        "errors": [],
        "warnings": [{"code": "line_split", "detail": "1 line was read in pieces", "file": 1, "page": 1}],
    }


async def test_an_image_without_text_is_a_success_with_no_lines():
    response = await post(
        FakePipeline(Page(Picture("PNG", "LA", 30, 20, frames=3, paper="black"), 30, 20)), content=DATA
    )
    assert response.status_code == 200
    assert response.json()["pages"] == [
        {
            "file": 1,
            "number": 1,
            "width": 30,
            "height": 20,
            "text": "",
            "lines": [],
            "paragraphs": [],
            "orientation": {"turned": 0, "skew": 0.0},
            "image": {
                "format": "PNG",
                "mode": "LA",
                "width": 30,
                "height": 20,
                "orientation_applied": False,
                "frames": 3,
                "paper": "black",
                "scaled": 1.0,
            },
        }
    ]


async def test_without_a_timeout_the_deadline_is_the_services():
    pipeline, before = FakePipeline(), monotonic()
    await post(pipeline, content=DATA)
    assert not pipeline.deadline.from_client
    assert before + 30 <= pipeline.deadline.at <= monotonic() + 30


@pytest.mark.parametrize(
    ("seconds", "from_client"),
    [("2.5", True), ("30", True), ("60", False)],
)
@pytest.mark.parametrize("place", ["query", "form", "JSON"])
async def test_a_timeout_counts_from_the_arrival_and_is_the_clients_if_not_longer_than_ours(
    seconds, from_client, place
):
    request = {
        "query": {"content": DATA, "params": {"timeout": seconds}},
        "form": {"files": {"file": DATA}, "data": {"timeout": seconds}},
        "JSON": {"json": {"image": BASE64, "timeout": float(seconds)}},
    }[place]
    pipeline, before = FakePipeline(), monotonic()
    await post(pipeline, **request)
    assert pipeline.deadline.timeout_s == float(seconds)
    assert pipeline.deadline.from_client is from_client
    assert before + float(seconds) <= pipeline.deadline.at <= monotonic() + float(seconds)


async def test_an_empty_body_is_refused():
    response = await post(content=b"")
    assert response.status_code == 400
    assert response.json()["detail"].startswith("the body is empty; send an image")


async def test_a_declared_length_over_the_limit_is_refused_without_reading():
    body = [chunk(b"never read")]
    sent, unread = await send(app_with(), body, headers=[("content-length", "10001")])
    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]
    assert unread == body


async def test_a_chunked_body_is_cut_at_the_first_byte_over_the_limit():
    pieces = [chunk(b"x" * 5000, more=True) for _ in range(10)]
    sent, unread = await send(app_with(), pieces, headers=[("transfer-encoding", "chunked")])
    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]
    assert len(unread) == 7


async def test_the_limit_itself_is_taken():
    pipeline = FakePipeline()
    assert (await post(pipeline, content=b"x" * 10_000)).status_code == 200
    assert len(pipeline.data) == 10_000


async def test_a_body_that_stalls_is_a_408_that_closes():
    sent, _ = await send(
        app_with(), [chunk(b"x", more=True)], headers=[("content-length", "100")], query=b"timeout=0.02"
    )
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_an_upload_that_alone_took_the_timeout_in_its_form_is_a_408():
    response = await post(files={"file": DATA}, data={"timeout": "0.0000001"})
    assert response.status_code == 408
    assert response.json()["code"] == "body_timeout"


async def test_an_encoded_body_is_refused():
    response = await post(content=DATA, headers={"content-encoding": "gzip"})
    assert response.status_code == 400
    assert "send the body as it is" in response.json()["detail"]


async def test_a_bad_option_in_the_query_is_refused_before_the_body_is_read():
    body = [chunk(b"never read")]
    sent, unread = await send(app_with(), body, headers=[("content-length", "10")], query=b"min_scor=1")
    assert sent[0]["status"] == 400
    assert unread == body


async def test_a_client_that_leaves_while_its_image_is_read_cancels_the_reading():
    pipeline = FakePipeline(gate=asyncio.Event())
    sent, _ = await send(app_with(pipeline), [chunk(DATA), {"type": "http.disconnect"}])
    assert pipeline.cancelled == 1
    assert [message["status"] for message in sent if "status" in message] == [499]


async def test_a_client_that_leaves_while_it_sends_is_not_answered_from_the_pipeline():
    pipeline = FakePipeline()
    sent, _ = await send(app_with(pipeline), [chunk(DATA, more=True), {"type": "http.disconnect"}])
    assert pipeline.calls == []
    assert sent[0]["status"] == 499


async def test_requests_do_not_wait_for_each_other():
    pipeline = FakePipeline(gate=asyncio.Barrier(2))
    async with client_of(app_with(pipeline)) as client:
        responses = await asyncio.gather(*(client.post("/v1/ocr", content=DATA) for _ in range(2)))
    assert [response.status_code for response in responses] == [200, 200]


async def test_the_models_that_are_served():
    async with client_of(app_with()) as client:
        response = await client.get("/v1/models")
    assert response.json() == {
        "model_set": "ppocrv6-small",
        "models": [
            {"name": "text_detection", "kind": "detection", "version": "1"},
            {"name": "text_recognition", "kind": "recognition", "version": "2"},
        ],
    }


async def test_the_services_limits_hold():
    limits = RequestLimits(max_body_bytes=5, timeout_s=1.0, max_timeout_s=2.0)
    assert (await post(content=b"123456", choices={"limits": limits})).status_code == 413
    response = await post(content=b"1", params={"timeout": "3"}, choices={"limits": limits})
    assert "above 0 and at most 2" in response.json()["detail"]
