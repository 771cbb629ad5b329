"""Alternatives of characters, from a real model that was built to give three."""

import asyncio
from dataclasses import replace

import httpx
import pytest
from gateways import AS_IT_IS, ONLY_REQUESTS, connected, embedded, pipeline_on, running_gateway
from rendered_pages import lines_of_words, page, png
from served_models import ALTERNATIVES, EDITED, ORIGINAL, SHAPED

from gateway.errors import InvalidRequest
from gateway.metrics import WIRE_BYTES
from gateway.ocr.options import RecognitionOptions

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

TEXTS = lines_of_words(6, longest=2)
"""Short, so that no line is cut by the few buckets of these models."""
PAGE = png(page(TEXTS, width=480, height=320))
PLAIN = replace(AS_IT_IS, level="char", recognition=RecognitionOptions(reread=False))
WANTED = replace(PLAIN, recognition=replace(PLAIN.recognition, alternatives=ALTERNATIVES))


def characters_of(page):
    return [character for line in page.lines for word in line.words for character in word.characters]


def transcriptions(page):
    """Without the alternatives: texts, scores and steps to the last bit."""
    return [
        replace(
            line.transcription,
            characters=tuple(one._replace(alternatives=()) for one in line.transcription.characters),
        )
        for line in page.lines
    ]


def assert_alternatives(characters):
    for one in characters:
        scores = [alternative.score for alternative in one.alternatives]
        assert one.alternatives[0].text == one.text
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= one.score  # that of its surest step
        assert all(alternative.text for alternative in one.alternatives)
        assert len(scores) <= ALTERNATIVES
    assert max(len(one.alternatives) for one in characters) == ALTERNATIVES


def answered_bytes():
    """Of all answers to recognition calls of these models so far, counted where gRPC hands them over."""
    (metric,) = WIRE_BYTES.collect()
    return sum(
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total")
        and sample.labels["model"].startswith(SHAPED.recognition)
        and sample.labels["direction"] == "response"
    )


async def test_alternatives_change_no_bit_of_a_page_nor_its_text_when_requests_share_chunks(triton):
    async with connected(triton, SHAPED) as backend, pipeline_on(backend) as read:
        plain, wanted = await read(PAGE, PLAIN), await read(PAGE, WANTED)
        together = await asyncio.gather(read(PAGE, PLAIN), read(PAGE, WANTED))
    assert plain.text.splitlines() == TEXTS
    assert_alternatives(characters_of(wanted))
    assert all(character.alternatives == () for character in characters_of(plain))
    assert transcriptions(wanted) == transcriptions(plain)
    for page_together, page_alone in zip(together, (plain, wanted), strict=True):
        assert page_together.text == page_alone.text
        counts = [len(one.alternatives) for one in characters_of(page_together)]
        assert counts == [len(one.alternatives) for one in characters_of(page_alone)]


async def test_who_wants_no_alternatives_is_not_sent_them(triton):
    answered = []
    async with connected(triton, SHAPED) as backend, pipeline_on(backend) as read:
        for options in (PLAIN, WANTED):
            before = answered_bytes()
            await read(PAGE, options)
            answered.append(answered_bytes() - before)
    plain, wanted = answered
    assert wanted > 2.5 * plain  # of each step 12 bytes become 36


async def test_the_embedded_backend_gives_them_likewise(triton, repositories):
    async with connected(triton, SHAPED) as backend, pipeline_on(backend) as read:
        expected = characters_of(await read(PAGE, WANTED))
    async with embedded(repositories[SHAPED], SHAPED) as backend, pipeline_on(backend) as read:
        characters = characters_of(await read(PAGE, WANTED))
    assert_alternatives(characters)
    assert [one.text for one in characters] == [one.text for one in expected]


@pytest.mark.parametrize("names", [EDITED, ORIGINAL], ids=["edited", "original"])
async def test_models_that_give_none_are_not_asked(triton, names):
    async with connected(triton, names) as backend, pipeline_on(backend) as read:
        with pytest.raises(InvalidRequest, match="the models that are served give none"):
            await read(PAGE, WANTED)


def test_a_gateway_says_how_many_it_gives_and_answers_with_them(triton):
    models = {"OCR_DETECTION_MODEL": SHAPED.detection, "OCR_RECOGNITION_MODEL": SHAPED.recognition}
    with running_gateway(triton.grpc_address, **ONLY_REQUESTS, **models) as url, httpx.Client(base_url=url) as client:
        (model_set,) = client.get("/v1/capabilities").json()["model_sets"]
        assert model_set["alternatives"] == ALTERNATIVES
        options = {"level": "char", "alternatives": 2, "min_side": 0}
        answer = client.post("/v1/ocr", content=PAGE, params=options, timeout=60).raise_for_status().json()
        refused = client.post("/v1/ocr", content=PAGE, params={**options, "alternatives": 4}, timeout=60)
    words = [word for line in answer["pages"][0]["lines"] for word in line["words"]]
    counts = {len(character["alternatives"]) for word in words for character in word["characters"]}
    assert answer["pages"][0]["text"].splitlines() == TEXTS
    assert max(counts) == 2
    assert refused.status_code == 400
    assert "give at most 3" in refused.json()["detail"]
