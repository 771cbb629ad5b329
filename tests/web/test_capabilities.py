from dataclasses import replace

import pytest
from web_fakes import LIMITS, MODELS, app_with, client_of, no_models, post

from gateway import __version__
from gateway.formats.table import FORMATS
from gateway.ocr.decoding.formats import FileType
from gateway.web.capabilities import CapabilitiesOut
from gateway.web.options import options_for


async def get(**choices):
    async with client_of(app_with(**choices)) as client:
        return await client.get("/v1/capabilities")


async def test_the_answer_fits_its_schema_and_names_the_service_and_its_models():
    answer = await get()
    assert answer.status_code == 200
    CapabilitiesOut.model_validate_json(answer.content, strict=True)
    assert (answer.json()["version"], answer.json()["model_set"]) == (__version__, "ppocrv6-small")


async def test_the_model_set_that_is_served_is_there_with_its_scripts():
    models = replace(MODELS, charset=("", "a", "b", "中", " "), alternatives=0)
    answer = (await get(models=lambda: models)).json()
    assert answer["model_sets"] == [{"name": "ppocrv6-small", "scripts": {"Latn": 2, "Hani": 1}, "alternatives": 0}]


async def test_it_is_told_how_many_alternatives_may_be_asked_for():
    models = replace(MODELS, alternatives=3)
    assert (await get(models=lambda: models)).json()["model_sets"][0]["alternatives"] == 3


@pytest.mark.parametrize(("given", "status"), [(0, 400), (2, 400), (3, 200)])
async def test_alternatives_that_the_models_do_not_give_are_refused_by_name(given, status):
    models = replace(MODELS, alternatives=given)
    async with client_of(app_with(models=lambda: models)) as client:
        answer = await client.post("/v1/ocr", content=b"x", params={"level": "char", "alternatives": 3})
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["detail"].startswith("alternatives is 3, but the models that are served give ")
        assert answer.json()["detail"].endswith("python -m triton_models build --alternatives 3 do")


async def test_a_model_set_that_is_not_served_is_refused_by_name():
    answer = await post(content=b"x", params={"model_set": "ppocrv5-mobile"})
    assert answer.status_code == 400
    assert answer.json()["detail"] == "model_set is 'ppocrv5-mobile', which is not served; served: ppocrv6-small"


async def test_limits_are_those_of_the_service():
    assert (await get()).json()["limits"] == {
        "max_body_bytes": LIMITS.max_body_bytes,
        "max_files": LIMITS.max_files,
        "max_pages": LIMITS.max_pages,
        "timeout_s": LIMITS.timeout_s,
        "max_timeout_s": LIMITS.max_timeout_s,
    }


async def test_options_are_all_there_with_default_and_description():
    options = (await get()).json()["options"]
    assert list(options) == list(options_for(LIMITS).model_fields)
    assert all({"default", "description", "type"} <= schema.keys() for schema in options.values())
    assert options["level"]["enum"] == ["line", "word", "char"]


async def test_files_and_formats_are_all_there():
    answer = (await get()).json()
    assert answer["inputs"] == sorted(FileType)
    assert [one["name"] for one in answer["formats"]] == ["json", "ndjson", *FORMATS]
    assert [one["name"] for one in answer["formats"] if one["single"]] == ["page", "png"]


@pytest.mark.parametrize("number", range(2 + len(FORMATS)))
async def test_every_format_is_answered_with_its_media_type(number):
    form = (await get()).json()["formats"][number]
    answer = await post(content=b"x", params={"format": form["name"]})
    assert answer.headers["content-type"] == form["media_type"]


async def test_before_the_models_are_read_it_is_a_503():
    assert (await get(models=no_models)).status_code == 503
