import re

import pytest
from web_fakes import app_with, client_of

from gateway.web.problems import PROBLEMS


async def get(path):
    async with client_of(app_with()) as client:
        return await client.get(path)


async def test_the_page_names_no_other_host():
    page = (await get("/docs")).text
    assert re.findall(r"(?:https?:)?//[a-z]", page) == []


async def test_everything_that_the_page_loads_is_served_here():
    page = (await get("/docs")).text
    addresses = re.findall(r"(?:src|href)=\"([^\"]+)\"", page) + re.findall(r"url: '([^']+)'", page)
    assert len(addresses) == 4
    for address in addresses:
        response = await get("/" + address)
        assert response.status_code == 200
        assert len(response.content) > 100


async def test_addresses_are_relative_so_that_a_proxy_may_add_a_prefix():
    page = (await get("/docs")).text
    assert not re.findall(r"(?:src|href)=\"/", page)


async def test_the_browser_is_told_to_load_nothing_from_elsewhere():
    policy = (await get("/docs")).headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "http" not in policy


async def test_swagger_does_not_send_the_document_to_a_validator():
    assert '"validatorUrl": null' in (await get("/docs")).text


@pytest.mark.parametrize(
    ("asset", "media_type"),
    [("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css"), ("favicon.png", "image/png")],
)
async def test_assets_have_their_type_and_may_be_kept(asset, media_type):
    response = await get(f"/docs/{asset}")
    assert response.headers["content-type"].startswith(media_type)
    assert response.headers["cache-control"] == "max-age=86400"


@pytest.mark.parametrize("path", ["/docs/core.py", "/docs/../__init__.py", "/docs/%2e%2e%2fcore.py", "/docs/"])
async def test_nothing_else_of_the_package_is_served(path):
    assert (await get(path)).status_code == 404


@pytest.mark.parametrize("code", PROBLEMS)
async def test_the_type_of_a_problem_is_an_address_that_explains_it(code):
    response = await get(f"/problems/{code}")
    kind = PROBLEMS[code]
    assert response.json() == {
        "type": f"/problems/{code}",
        "code": code,
        "status": kind.status,
        "title": kind.title,
        "advice": kind.advice,
    }


async def test_an_unknown_problem_is_not_found():
    assert (await get("/problems/hunger")).status_code == 404
