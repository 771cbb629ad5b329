"""FastAPI can't derive most of this document from types, so it is tested by building requests from it."""

from base64 import b64decode, b64encode
from io import BytesIO

import pytest
from PIL import Image
from pydantic import TypeAdapter
from web_fakes import FakeCanary, FakePipeline, app_with, client_of, no_models

from gateway import errors
from gateway.web.options import MODEL_SET
from gateway.web.problems import PROBLEMS
from gateway.web.schemas import ImageOut, LineOut, ModelOut, OcrOut, PageOut, StatusOut, WarningOut

DOCUMENT = app_with().openapi()
OCR = DOCUMENT["paths"]["/v1/ocr"]["post"]
PARAMETERS = {parameter["name"]: parameter["schema"] for parameter in OCR["parameters"] if parameter["in"] == "query"}
CONTENT = OCR["requestBody"]["content"]
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
DATA = b"\x89PNG and so on"


def documented_codes(path, method):
    responses = DOCUMENT["paths"][path][method]["responses"]
    return {
        code
        for status, response in responses.items()
        for code in response["content"].get("application/problem+json", {}).get("examples", {})
        if PROBLEMS[code].status == int(status)
    }


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from references(child)


async def post(pipeline=None, **request):
    async with client_of(app_with(pipeline)) as client:
        return await client.post("/v1/ocr", **request)


def test_every_reference_leads_somewhere():
    for reference in references(DOCUMENT):
        node = DOCUMENT
        for key in reference.removeprefix("#/").split("/"):
            node = node[key]


def test_every_code_of_the_table_is_documented_and_no_other():
    assert DOCUMENT["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == list(PROBLEMS)


def test_every_code_is_an_example_of_an_operation_that_can_answer_it():
    shown = set().union(*(documented_codes(path, method) for path, method in OPERATIONS))
    # Nobody who follows the document uses a wrong method.
    assert shown == set(PROBLEMS) - {"method_not_allowed"}


def test_examples_of_problems_are_true_to_the_table():
    for path, method in OPERATIONS:
        for status, response in DOCUMENT["paths"][path][method]["responses"].items():
            for code, example in response["content"].get("application/problem+json", {}).get("examples", {}).items():
                assert example["value"]["code"] == code
                assert example["value"]["status"] == int(status) == PROBLEMS[code].status


def test_a_503_documents_its_retry_after():
    assert "Retry-After" in OCR["responses"]["503"]["headers"]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_documents_the_request_id(path, method):
    for response in DOCUMENT["paths"][path][method]["responses"].values():
        assert "X-Request-Id" in response["headers"]
        assert response["description"]


@pytest.mark.parametrize(("path", "method"), [operation for operation in OPERATIONS if operation[1] == "get"])
async def test_every_documented_address_answers_with_the_documented_members(path, method):
    async with client_of(app_with()) as client:
        response = await client.get(path.format(code="internal"))
    assert response.status_code == 200
    content = DOCUMENT["paths"][path][method]["responses"]["200"]["content"]
    media_type = response.headers["content-type"].partition(";")[0]
    assert list(content) == [media_type]
    if media_type == "application/json":
        name = content[media_type]["schema"]["$ref"].rpartition("/")[2]
        assert list(response.json()) == list(DOCUMENT["components"]["schemas"][name]["properties"])


OPTIONAL = ("words",)
"""Members that are sent only if they were asked for."""


async def test_the_answer_has_the_documented_members_on_every_level():
    answer = (await post(content=DATA)).json()
    levels = {
        "OcrOut": answer,
        "ModelOut": answer["models"][0],
        "PageOut": answer["pages"][0],
        "LineOut": answer["pages"][0]["lines"][0],
        "ImageOut": answer["pages"][0]["image"],
        "WarningOut": answer["warnings"][0],
    }
    for name, level in levels.items():
        schema = DOCUMENT["components"]["schemas"][name]
        assert list(level) == schema["required"] == [one for one in schema["properties"] if one not in OPTIONAL]


@pytest.mark.parametrize("model", [OcrOut, ModelOut, PageOut, ImageOut, LineOut, WarningOut, StatusOut])
def test_examples_of_the_answer_fit_their_types(model):
    for field in model.model_fields.values():
        for example in field.examples or ():
            TypeAdapter(field.annotation).validate_python(example)


async def test_raw_bodies_may_have_the_documented_types():
    for media_type in ("application/octet-stream", "image/*"):
        assert CONTENT[media_type] == {"schema": {"type": "string", "format": "binary"}}
        pipeline = FakePipeline()
        response = await post(pipeline, content=DATA, headers={"content-type": media_type.replace("*", "png")})
        assert response.status_code == 200
        assert pipeline.data == DATA


async def test_a_form_made_from_the_document_is_taken():
    schema = CONTENT["multipart/form-data"]["schema"]
    assert schema["required"] == ["file"]
    assert schema["properties"]["file"]["maxItems"] == 16
    fields = {name: str(value["default"]) for name, value in schema["properties"].items() if name != "file"}
    assert set(fields) == set(PARAMETERS)
    pipeline = FakePipeline()
    assert (await post(pipeline, files={"file": DATA}, data=fields)).status_code == 200
    assert pipeline.data == DATA


async def test_a_json_body_made_from_the_document_is_taken():
    schema = CONTENT["application/json"]["schema"]
    assert schema["oneOf"] == [{"required": ["image"]}, {"required": ["images"]}]
    assert schema["additionalProperties"] is False
    images = {"image": b64encode(DATA).decode(), "images": [b64encode(DATA).decode()] * 2}
    members = {name: value["default"] for name, value in schema["properties"].items() if name not in images}
    assert set(members) == set(PARAMETERS)
    for name, value in images.items():
        assert (await post(json={name: value, **members})).status_code == 200


def test_the_image_of_the_examples_is_one():
    data = b64decode(CONTENT["application/json"]["examples"]["base64"]["value"]["image"])
    assert Image.open(BytesIO(data)).getpixel((0, 0)) == 255


@pytest.mark.parametrize("name", CONTENT["application/json"]["examples"])
async def test_json_examples_are_taken(name):
    assert (await post(json=CONTENT["application/json"]["examples"][name]["value"])).status_code == 200


def ends(schema):
    """Values at the ends of a range: those inside and those just outside."""
    if schema["type"] == "boolean":
        return ["true", "false"], ["2"]
    if "enum" in schema:
        return schema["enum"], ["", schema["enum"][0].upper()]
    if schema.get("pattern") == MODEL_SET:
        return ["ppocrv6-small"], ["ppocrv6 small", "a" * 65]
    if schema["type"] == "string" and schema["default"] == "":
        return ["0,0,1,1", "0,0,99999,99999;5,5,10,10"], ["0,0,0,1", "1,2,3", "0,0,1,1;", "-1,0,1,1", "0,0,100000,1"]
    if schema["type"] == "string":
        return ["1", "1-2,999999-"], ["", "0", "2-1", "1000000", "1,"]
    step = 1 if schema["type"] == "integer" else 1e-6
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    # A timeout of a microsecond would be over at once.
    inside = [above + 0.9 if low is None else low, below - step if high is None else high]
    outside = [above if low is None else low - step, below if high is None else high + step]
    return inside, outside


@pytest.mark.parametrize("name", PARAMETERS)
async def test_a_documented_range_is_taken_from_end_to_end_and_no_further(name):
    inside, outside = ends(PARAMETERS[name])
    params = {"level": "char"} if name == "alternatives" else {}
    for value in (*inside, PARAMETERS[name]["default"]):
        assert (await post(content=DATA, params={**params, name: str(value)})).status_code == 200
    for value in outside:
        assert (await post(content=DATA, params={**params, name: str(value)})).status_code == 400


def test_priorities_and_keys_are_documented_as_what_a_client_may_send():
    [priority] = [parameter for parameter in OCR["parameters"] if parameter["in"] == "header"]
    assert (priority["name"], priority["schema"]["enum"]) == ("X-Priority", ["interactive", "batch"])
    assert OCR["security"] == [{}, {"key": []}]
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def raised_by(code):
    classes = [errors.OcrError]
    for cls in classes:
        classes += cls.__subclasses__()
    return next(cls for cls in reversed(classes) if cls.code == code)


async def produced(path, code):
    """Make an operation answer with a code, by any means."""
    choices = {"draining": code == "draining"}
    if code == "backend_unavailable":
        choices |= {"canary": FakeCanary(ready=False, reason="no"), "models": no_models}
    async with client_of(app_with(FakePipeline(raised_by(code)("no")), **choices)) as client:
        return await client.request("POST" if path == "/v1/ocr" else "GET", path.format(code="none"), content=DATA)


REACHABLE = [
    (path, code)
    for path, method in OPERATIONS
    for code in sorted(documented_codes(path, method))
    # A bug of the other operations can't be ordered; what a connection refuses: test_connections.py.
    if (path == "/v1/ocr" or code != "internal") and code not in ("header_timeout", "header_too_large")
]


@pytest.mark.parametrize(("path", "code"), [pair for pair in REACHABLE if pair[1] != "not_found"])
async def test_every_documented_code_is_answered(path, code):
    response = await produced(path, code)
    responses = DOCUMENT["paths"][path]["post" if path == "/v1/ocr" else "get"]["responses"]
    example = responses[str(response.status_code)]["content"]["application/problem+json"]["examples"][code]["value"]
    same = ("type", "title", "status", "code", "retryable")
    assert {name: response.json()[name] for name in same} == {name: example[name] for name in same}
    assert ("retry_after_ms" in response.json()) == ("retry_after_ms" in example)


async def test_the_documented_not_found_is_answered():
    async with client_of(app_with()) as client:
        assert (await client.get("/problems/none")).json()["code"] == "not_found"
