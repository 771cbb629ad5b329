"""Which models read a request."""

from dataclasses import replace

import pytest
from prometheus_client import REGISTRY
from web_fakes import MODELS, PAGE, FakePipeline, client_of, services_with

from gateway.errors import BackendUnavailable
from gateway.web.assembly import create_web
from gateway.web.releases import is_in
from gateway.web.routes import create_router
from gateway.web.services import Offer, ServedModel

DATA = b"\x89PNG and so on"
NAMES = ("candidate_text_detection", "candidate_text_recognition")
NEW = replace(MODELS, models=tuple(ServedModel(name, "7", "detection") for name in NAMES), alternatives=0)


class Stand:
    """An app with a candidate of this share, or without one."""

    def __init__(self, share=None):
        self.serving, self.candidate, self.falling_back = FakePipeline(), FakePipeline(), FakePipeline()
        offer = None if share is None else Offer(share, self.candidate, self.falling_back, lambda: NEW)
        self.app = create_web(version="0.0.0", admission=None)
        self.app.include_router(create_router(replace(services_with(self.serving), candidate=lambda: offer)))

    async def post(self, release=None, request_id="a", path="/v1/ocr", **request):
        headers = {"X-Request-Id": request_id} | ({"X-Ocr-Release": release} if release else {})
        request = request or {"content": DATA}
        async with client_of(self.app) as client:
            return await client.post(path, headers=headers, **request)

    @property
    def reads(self):
        return [len(pipeline.calls) for pipeline in (self.serving, self.candidate, self.falling_back)]


def names(response):
    return [model["name"] for model in response.json()["models"]]


@pytest.mark.parametrize(
    ("share", "release", "reads"),
    [
        (None, None, [1, 0, 0]),
        (None, "serving", [1, 0, 0]),
        (0, None, [1, 0, 0]),
        (0, "candidate", [0, 1, 0]),
        (100, "serving", [1, 0, 0]),
        (100, None, [0, 0, 1]),
        (100, "candidate", [0, 1, 0]),
    ],
)
async def test_a_request_is_read_by_whom_it_names_or_else_by_the_share(share, release, reads):
    stand = Stand(share)
    response = await stand.post(release)
    assert response.status_code == 200
    assert stand.reads == reads
    assert names(response) == ([model.name for model in MODELS.models] if reads[0] else list(NAMES))


@pytest.mark.parametrize(("share", "release"), [(None, "candidate"), (100, "2"), (None, "new")])
async def test_a_release_that_there_is_not_is_refused_by_name(share, release):
    stand = Stand(share)
    response = await stand.post(release)
    assert response.status_code == 400
    assert "X-Ocr-Release" in response.json()["detail"]
    assert stand.reads == [0, 0, 0]


async def test_whoever_asks_for_the_candidate_gets_its_failure():
    stand = Stand(100)
    stand.candidate.outcome = BackendUnavailable("gone")
    assert (await stand.post("candidate")).status_code == 503


@pytest.mark.parametrize("options", [{"model_set": "ppocrv6-small", "alternatives": 2, "level": "char"}])
async def test_a_request_that_the_candidate_can_not_serve_is_none_of_its_share(options):
    stand = Stand(100)
    assert (await stand.post(content=DATA, params=options)).status_code == 200
    assert stand.reads == [1, 0, 0]


async def test_clients_of_other_services_are_read_by_the_same_rules():
    stand = Stand(100)
    response = await stand.post(path="/ocr", files={"image_file": ("a.png", DATA)})
    assert response.status_code == 200
    assert stand.reads == [0, 0, 1]


async def test_each_release_counts_its_requests_lines_and_scores():
    def counts():
        values = (
            REGISTRY.get_sample_value("ocr_release_requests_total", {"release": "candidate", "outcome": "ok"}),
            REGISTRY.get_sample_value("ocr_release_lines_total", {"release": "candidate"}),
            REGISTRY.get_sample_value("ocr_release_line_scores_total", {"release": "candidate"}),
        )
        return [value or 0.0 for value in values]

    before = counts()
    await Stand(100).post()
    score = PAGE.lines[0].transcription.score
    grown = [after - earlier for after, earlier in zip(counts(), before, strict=True)]
    assert grown == pytest.approx([1, 1, score])


def test_a_share_is_that_of_all_requests_and_of_each_always_the_same():
    ids = [f"request {number}" for number in range(10_000)]
    for share in (0, 0.5, 10, 99, 100):
        chosen = [one for one in ids if is_in(one, share)]
        assert len(chosen) / 100 == pytest.approx(share, abs=1)
        assert all(is_in(one, share) for one in chosen)


def test_a_larger_share_holds_the_smaller_one():
    assert all(is_in(str(number), 25) for number in range(1000) if is_in(str(number), 10))
