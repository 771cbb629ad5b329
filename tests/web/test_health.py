import pytest
from web_fakes import FakeCanary, FakePipeline, app_with, client_of

from gateway.errors import BackendUnavailable, Draining
from gateway.inference.backend import EndpointStatus
from gateway.web.problems import Problem

SICK = FakeCanary(ready=False, reason="the known picture was read as 'x'")


async def get(path, pipeline=None, **choices):
    async with client_of(app_with(pipeline, **choices)) as client:
        return await client.get(path)


@pytest.mark.parametrize("choices", [{}, {"canary": SICK}, {"draining": True}])
async def test_the_process_is_alive_whatever_the_models_do(choices):
    response = await get("/livez", **choices)
    assert response.status_code == 200
    assert response.json() == {"status": "alive"}


async def test_the_service_is_ready_when_the_known_picture_is_read():
    response = await get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"status": "ready", "endpoints": []}


async def test_a_service_that_is_ready_says_which_servers_are_not():
    statuses = (
        EndpointStatus("a:8001", "serving", ""),
        EndpointStatus("b:8001", "differing", "classes: 5 here, 4 in use"),
    )
    response = await get("/readyz", endpoints=lambda: statuses)
    assert response.json()["endpoints"] == [
        {"address": "a:8001", "state": "serving", "reason": ""},
        {"address": "b:8001", "state": "differing", "reason": "classes: 5 here, 4 in use"},
    ]


async def test_a_service_that_is_not_ready_says_why():
    response = await get("/readyz", canary=SICK)
    problem = Problem.model_validate_json(response.content)
    assert response.status_code == 503
    assert "retry-after" in response.headers
    assert problem.code == BackendUnavailable.code
    assert problem.detail == SICK.reason


async def test_draining_wins_over_everything():
    response = await get("/readyz", canary=SICK, draining=True)
    assert response.status_code == 503
    assert response.json()["code"] == Draining.code


async def test_while_draining_requests_are_still_answered():
    async with client_of(app_with(draining=True)) as client:
        assert (await client.post("/v1/ocr", content=b"x")).status_code == 200


async def test_probes_never_reach_the_pipeline():
    pipeline = FakePipeline()
    for path in ("/livez", "/readyz", "/metrics"):
        await get(path, pipeline)
    assert pipeline.calls == []


async def test_metrics_are_in_prometheus_text_format():
    response = await get("/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "# TYPE ocr_http_requests_in_flight gauge" in response.text
