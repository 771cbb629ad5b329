import httpx
import pytest
from web_fakes import services_with

from gateway.web.assembly import create_web
from gateway.web.ops_port import is_there
from gateway.web.routes import create_router

PUBLIC, OPS = 8080, 9100


async def ask(port, method, path, *, ops_port=OPS):
    app = create_web(version="0.0.0", ops_port=ops_port)
    app.include_router(create_router(services_with()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://gateway:{port}") as client:
        return await client.request(method, path)


@pytest.mark.parametrize("path", ["/metrics", "/docs", "/docs/swagger-ui.css", "/openapi.json"])
async def test_what_is_for_operators_is_on_their_port_alone(path):
    assert (await ask(OPS, "GET", path)).status_code == 200
    refusal = await ask(PUBLIC, "GET", path)
    assert (refusal.status_code, refusal.json()["code"]) == (404, "not_found")
    assert refusal.headers["X-Request-Id"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/ocr"), ("POST", "/ocr"), ("GET", "/v1/models")])
async def test_what_is_for_clients_is_not_on_the_port_for_operators(method, path):
    assert (await ask(OPS, method, path)).status_code == 404
    assert (await ask(PUBLIC, method, path)).status_code != 404


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/problems/overloaded"])
@pytest.mark.parametrize("port", [PUBLIC, OPS])
async def test_health_and_the_meaning_of_problems_are_on_both(port, path):
    assert (await ask(port, "GET", path)).status_code == 200


async def test_without_such_a_port_everything_is_in_one_place():
    assert (await ask(PUBLIC, "GET", "/metrics", ops_port=0)).status_code == 200


@pytest.mark.parametrize("path", ["", "*", "/", "//metrics", "/metricsx", "/Metrics"])
def test_a_path_that_only_looks_like_one_for_operators_is_one_for_clients_or_none(path):
    assert is_there(path, ops=False)
