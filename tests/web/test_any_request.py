"""Nothing that a client sends is our bug: whatever it is, the answer is a page or a problem below 500."""

import asyncio
import json
from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st
from web_fakes import app_with, chunk, send

from gateway.web.problems import Problem
from gateway.web.schemas import OcrOut

APP = app_with()
FORM = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
JSON = b'{"image": "' + b64encode(b"x") + b'", "min_score": 0.5}'

content_types = st.sampled_from(
    ["", "image/png", "application/json", "multipart/form-data; boundary=b", 'multipart/form-data; boundary="b"; x']
) | st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)
queries = st.binary(max_size=40) | st.sampled_from(
    [b"", b"min_score=0.5", b"min_score=1&min_score=1", b"%ff=%00", b"=&;"]
)


@st.composite
def bodies(draw):
    """A good body with a piece of it cut out and something else put in."""
    body = draw(st.sampled_from([b"", b"x", FORM, JSON]))
    start = draw(st.integers(0, len(body)))
    return body[:start] + draw(st.binary(max_size=20)) + body[draw(st.integers(start, len(body))) :]


@given(content_types, queries, bodies(), st.integers(1, 40))
def test_every_request_gets_a_page_or_a_problem_below_500(content_type, query, body, step):
    pieces = [chunk(body[start : start + step], more=True) for start in range(0, len(body), step)]
    headers = [("content-type", content_type), ("transfer-encoding", "chunked")]
    start, answer = asyncio.run(answer_to([*pieces, chunk(b"")], headers, query))
    model = OcrOut if start["status"] == 200 else Problem
    model.model_validate_json(answer["body"])
    assert start["status"] in (200, 400, 413)
    assert json.loads(answer["body"])["request_id"]


async def answer_to(messages, headers, query):
    sent, _ = await send(APP, messages, headers=headers, query=query)
    return sent
