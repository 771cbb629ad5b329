import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest
from fake_models import Bar, FakeModels, picture, png

from gateway import __version__
from gateway.app import create_app, event_loop_factory, make_backend
from gateway.errors import BackendUnavailable, SettingsError
from gateway.inference.embedded import EmbeddedBackend
from gateway.inference.triton import TritonBackend
from gateway.settings import Settings

PAGE = png(picture(Bar(40, 40, 200, 24, "a"), Bar(40, 120, 120, 24, "b")))


@asynccontextmanager
async def client_of(models, *, first_look_s=0.0, **choices):
    """A client of an app that has been started, and is stopped at the end."""
    app = create_app(Settings(**choices), models, first_look_s=first_look_s)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client,
    ):
        yield client


@pytest.fixture
def models():
    return FakeModels()


async def until(condition):
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what happens is seen from outside
            await asyncio.sleep(0.01)


async def test_a_picture_goes_in_and_its_text_comes_out(models):
    async with client_of(models) as client:
        answer = await client.post("/v1/ocr", content=PAGE)
    assert answer.status_code == 200
    assert answer.json()["pages"][0]["text"] == "a\nb"
    assert answer.json()["model_set"] == "fake"


async def test_when_it_has_started_the_known_picture_has_been_read_once(models):
    async with client_of(models, first_look_s=60.0) as client:
        answer = await client.get("/readyz")
    assert "the known picture was read as" in answer.json()["detail"]


@pytest.mark.parametrize(("choices", "status"), [({}, 200), ({"page": False}, 404)])
async def test_the_page_can_be_turned_off(models, choices, status):
    async with client_of(models, **choices) as client:
        answer = await client.get("/")
    assert answer.status_code == status


async def test_the_models_are_named(models):
    async with client_of(models) as client:
        answer = await client.get("/v1/models")
    assert [model["name"] for model in answer.json()["models"]] == ["text_detection", "text_recognition"]


async def test_the_service_reads_the_known_picture_and_is_not_ready_while_it_reads_something_else(models):
    async with client_of(models) as client:
        while "not been read yet" in (answer := await client.get("/readyz")).text:  # noqa: ASYNC110 - as a probe does
            await asyncio.sleep(0.01)
    assert answer.status_code == 503
    assert "the known picture was read as" in answer.json()["detail"]


async def test_models_that_come_late_are_met_by_the_reading_of_the_known_picture():
    class Late(FakeModels):
        asked = 0

        async def refresh(self):
            self.asked += 1
            if self.asked == 1:
                raise BackendUnavailable("not yet")

    models = Late()
    async with client_of(models, canary_interval_s=0.01):
        await until(lambda: models.chunks)
    assert models.asked >= 2


async def test_settings_reach_what_they_set(models):
    async with client_of(models, max_pixels=1000) as client:
        too_large = await client.post("/v1/ocr", content=PAGE)
    async with client_of(models, max_body_bytes=10) as client:
        too_long = await client.post("/v1/ocr", content=PAGE)
    async with client_of(models, max_timeout_s=40) as client:
        too_late = await client.post("/v1/ocr?timeout=41", content=PAGE)
    async with client_of(models, max_chunk_pixels=1) as client:
        models.chunks.clear()
        await client.post("/v1/ocr", content=PAGE)
    assert [answer.json()["code"] for answer in (too_large, too_long, too_late)] == [
        "image_too_large",
        "body_too_large",
        "invalid_request",
    ]
    assert {rows for rows, *_ in models.chunks} == {1}


async def test_at_the_end_the_backend_is_closed(models):
    async with client_of(models):
        assert not models.closed
    assert models.closed


@pytest.mark.parametrize(("name", "kind"), [("triton", TritonBackend), ("embedded", EmbeddedBackend)])
async def test_the_backend_is_the_one_that_the_settings_name_and_may_be_made_before_its_models(tmp_path, name, kind):
    backend = make_backend(Settings(backend=name, model_repository=tmp_path))
    assert type(backend) is kind
    with pytest.raises(BackendUnavailable):
        _ = backend.contract
    await backend.close()


def test_the_event_loop_is_uvloops():
    loop = event_loop_factory()()
    assert type(loop).__module__ == "uvloop"
    loop.close()


def test_a_certificate_that_can_not_be_read_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"absent\.pem"):
        make_backend(Settings(triton_ca=tmp_path / "absent.pem"))


async def test_metrics_say_how_busy_the_process_is_and_what_its_limits_are(models):
    async with client_of(models, cpu_threads=3, decoder_processes=2, max_connections=50) as client:
        page = (await client.get("/metrics")).text
        lines = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    names = ("ocr_cpu_pool_threads", "ocr_decoders", "ocr_decoders_busy", "ocr_connections_limit", "ocr_ready")
    assert [float(lines[name]) for name in names] == [3, 2, 0, 50, 0]
    assert float(lines[f'ocr_build_info{{version="{__version__}"}}']) == 1
