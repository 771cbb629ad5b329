"""What answers of a gateway are taken for."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from gateway import __version__
from gateway.canary import KNOWN_TEXT
from gateway.doctor import exposure, service
from gateway.doctor.findings import Severity
from gateway.doctor.pages import MetricsPage
from gateway.doctor.targets import WebTarget


def gateway(*answers, url="http://127.0.0.1:1"):
    """A target that gives these answers, one after the other."""
    left = list(answers)
    return WebTarget(url, transport=httpx.MockTransport(lambda _: left.pop(0)))


async def verdict(check, *answers, **options):
    (only,) = await check(gateway(*answers, **options))
    return only.severity, only.what


def dated(seconds):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
    return httpx.Response(200, headers={"date": date})


@pytest.mark.parametrize("seconds", [-1, 0, 1])
async def test_a_clock_that_agrees(seconds):
    assert await verdict(service.check_clock, dated(seconds)) == (
        Severity.OK,
        "its clock and this machine's agree",
    )


@pytest.mark.parametrize("seconds", [-60, 60])
async def test_a_clock_that_does_not(seconds):
    severity, what = await verdict(service.check_clock, dated(seconds))
    assert severity is Severity.WARNING
    assert what in {f"its clock is {off} s off this machine's" for off in (58, 59, 60, 61)}


ENDPOINTS = [
    {"address": "a:1", "state": "serving", "reason": ""},
    {"address": "b:1", "state": "differing", "reason": "classes: 3 here, 4 in use"},
]


@pytest.mark.parametrize(
    ("answer", "severity", "what"),
    [
        (httpx.Response(200, json={"endpoints": ENDPOINTS[:1]}), Severity.OK, "it is ready; 1 Tritons serve"),
        (httpx.Response(200, json={"endpoints": ENDPOINTS}), Severity.WARNING, "1 of its 2 Tritons get no calls"),
        (httpx.Response(503, json={"code": "draining"}), Severity.WARNING, "it is shutting down"),
        (httpx.Response(503, json={"code": "backend_unavailable"}), Severity.ERROR, "it is not ready"),
    ],
)
async def test_readiness(answer, severity, what):
    assert await verdict(service.check_ready, answer) == (severity, what)


def read(text):
    return httpx.Response(200, json={"pages": [{"text": text}]})


@pytest.mark.parametrize(
    ("answer", "severity", "what"),
    [
        (read(KNOWN_TEXT), Severity.OK, "the known picture is read correctly"),
        (read("Known p1cture"), Severity.ERROR, "it says that it is ready, but reads wrongly"),
        (httpx.Response(200, json={"pages": []}), Severity.ERROR, "it says that it is ready, but reads wrongly"),
        (
            httpx.Response(503, json={"code": "inference_timeout"}),
            Severity.ERROR,
            "it says that it is ready, but can't read the known picture",
        ),
        (
            httpx.Response(503, json={"code": "overloaded"}),
            Severity.WARNING,
            "it refuses requests because it has too much to do",
        ),
        (httpx.Response(401, json={"code": "unauthenticated"}), Severity.UNKNOWN, "it wants an API key"),
    ],
)
async def test_a_reading(answer, severity, what):
    assert await verdict(service.check_reading, answer) == (severity, what)


async def test_another_version():
    assert await verdict(service.check_version, httpx.Response(200, json={"version": "0.0.1"})) == (
        Severity.WARNING,
        f"it is version 0.0.1, this doctor is of {__version__}",
    )


@pytest.mark.parametrize(
    ("url", "severity"), [("http://192.0.2.7:8080", Severity.WARNING), ("http://127.0.0.1:1", Severity.OK)]
)
async def test_metrics_that_clients_can_read(url, severity):
    answers = httpx.Response(200), httpx.Response(404)
    assert (await verdict(exposure.check_operators_pages, *answers, url=url))[0] is severity


async def test_tritons_administration_over_http():
    answers = httpx.Response(200), httpx.Response(403), httpx.Response(403)
    assert await verdict(exposure.check_http_management, *answers, url="http://192.0.2.7:8000") == (
        Severity.WARNING,
        "whoever reaches port 8000 may use model-repository",
    )


@pytest.mark.parametrize(("guessed", "severity"), [(True, Severity.UNKNOWN), (False, Severity.ERROR)])
async def test_metrics_that_are_not_there(guessed, severity):
    transport = httpx.MockTransport(lambda _: httpx.Response(404))
    page = MetricsPage(WebTarget("http://x/metrics", guessed=guessed, transport=transport))
    (only,) = await page.check()
    assert only.severity is severity
