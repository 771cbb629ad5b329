import logging

import pytest
from fastapi import HTTPException
from web_fakes import FakePipeline, app_with, client_of, post

from gateway import errors, metrics
from gateway.web.problems import PROBLEMS, Problem

ABSTRACT = {errors.OcrError, errors.ImageError, errors.BackendError}
NOT_OF_REQUESTS = {errors.ContractError, errors.SettingsError}


def subclasses(base):
    return {base}.union(*(subclasses(cls) for cls in base.__subclasses__()))


RAISED = sorted(subclasses(errors.OcrError) - ABSTRACT - NOT_OF_REQUESTS, key=lambda cls: (cls.code, cls.__name__))
NOT_RAISED = {"not_found", "method_not_allowed", "header_timeout", "header_too_large", "internal"}
WAITING = (429, 503)


def test_every_error_that_a_request_can_raise_is_in_the_table():
    assert {cls.code for cls in RAISED} | NOT_RAISED == set(PROBLEMS)


@pytest.mark.parametrize("error", RAISED)
async def test_an_error_of_the_pipeline_becomes_its_problem(error):
    response = await post(FakePipeline(error("what happened")), content=b"x", headers={"x-request-id": "r1"})
    kind = PROBLEMS[error.code]
    problem = response.json()
    waits = {"retry_after_ms": problem.get("retry_after_ms")} if kind.status in WAITING else {}
    assert response.status_code == kind.status
    assert response.headers["content-type"] == "application/problem+json"
    assert problem == {
        "type": f"/problems/{error.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": "what happened",
        "instance": "/v1/ocr",
        "code": error.code,
        "request_id": "r1",
        "retryable": error.retryable,
        "stage": "decode",
        **waits,
    }


@pytest.mark.parametrize("error", [error for error in RAISED if PROBLEMS[error.code].status == 503])
async def test_a_503_says_when_to_come_back_with_a_jitter(error):
    response = await post(FakePipeline(error("busy")), content=b"x")
    assert 1000 <= response.json()["retry_after_ms"] < 2000
    assert response.headers["retry-after"] in ("1", "2")


async def test_a_429_says_exactly_when_the_quota_allows_more():
    response = await post(FakePipeline(errors.RateLimited("no", retry_after_s=7.25)), content=b"x")
    assert response.json()["retry_after_ms"] == 7250
    assert response.headers["retry-after"] == "8"


async def test_a_401_says_how_to_authenticate():
    response = await post(FakePipeline(errors.Unauthenticated("no")), content=b"x")
    assert response.headers["www-authenticate"] == 'Bearer realm="ocr"'


@pytest.mark.parametrize("error", [error for error in RAISED if PROBLEMS[error.code].status not in WAITING])
async def test_other_problems_do_not_ask_to_wait(error):
    response = await post(FakePipeline(error("no")), content=b"x")
    assert "retry-after" not in response.headers


@pytest.mark.parametrize("error", [ValueError("secret"), *(cls("secret") for cls in NOT_OF_REQUESTS | ABSTRACT)])
async def test_a_bug_is_logged_with_its_traceback_and_answered_without_its_inside(error, caplog):
    response = await post(FakePipeline(error), content=b"x")
    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert "secret" not in response.text
    [record] = [record for record in caplog.records if record.exc_info]
    assert record.exc_info[1] is error


async def test_a_failure_of_the_backend_is_logged_with_its_cause(caplog):
    error = errors.BackendUnavailable("Triton can't be reached")
    error.__cause__ = ConnectionError("refused")
    await post(FakePipeline(error), content=b"x")
    [record] = [record for record in caplog.records if record.getMessage().startswith(error.code)]
    assert record.getMessage() == (
        "backend_unavailable in decode: Triton can't be reached (ConnectionError('refused'))"
    )


async def test_a_mistake_of_the_client_is_not_logged_as_a_failure(caplog):
    await post(FakePipeline(errors.UnsupportedImage("no")), content=b"x")
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def test_an_unknown_address_is_a_problem():
    async with client_of(app_with()) as client:
        response = await client.get("/v1/nothing/hüten %")
    assert response.status_code == 404
    assert response.json()["code"] == "not_found"
    assert response.json()["instance"] == "/v1/nothing/h%C3%BCten%20%25"


async def test_a_wrong_method_is_a_problem_that_names_the_right_one():
    async with client_of(app_with()) as client:
        response = await client.get("/v1/ocr")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["code"] == "method_not_allowed"
    assert response.json()["detail"] == "this address does not take GET; it takes POST"


@pytest.mark.parametrize(("status", "code"), [(401, "invalid_request"), (418, "invalid_request"), (503, "internal")])
async def test_an_http_error_of_a_library_is_a_problem_too(status, code):
    app = app_with()

    @app.get("/library")
    async def library():
        raise HTTPException(status, "teapot")

    async with client_of(app) as client:
        response = await client.get("/library")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == code


async def test_a_parameter_that_fastapi_refuses_is_a_problem_that_names_it():
    app = app_with()

    @app.get("/typed")
    async def typed(number: int):
        return number

    async with client_of(app) as client:
        response = await client.get("/typed", params={"number": "x"})
    assert response.status_code == 400
    assert response.json()["detail"].startswith("query.number: Input should be a valid integer")


async def test_problems_are_counted_by_code():
    counter = metrics.ERRORS.labels("unsupported_image")
    before = counter._value.get()
    await post(FakePipeline(errors.UnsupportedImage("no")), content=b"x")
    assert counter._value.get() == before + 1


TRIGGERS = {
    "invalid_request": {"content": b"x", "params": {"x": "1"}},
    "body_too_large": {"content": b"x" * 10_001},
    "body_timeout": {"files": {"file": b"x"}, "data": {"timeout": "0.0000001"}},
}


@pytest.mark.parametrize("code", TRIGGERS)
async def test_the_web_layers_own_errors_are_problems_without_a_stage(code):
    response = await post(**TRIGGERS[code])
    assert response.json()["code"] == code
    assert "stage" not in response.json()


async def test_every_problem_that_is_sent_fits_its_schema():
    responses = [await post(FakePipeline(error("no")), content=b"x") for error in RAISED]
    for response in responses:
        Problem.model_validate_json(response.content, strict=True)
