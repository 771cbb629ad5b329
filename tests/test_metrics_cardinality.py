"""Whatever clients choose, none of it becomes a label of /metrics."""

import random
import string

import httpx
from fake_models import FakeModels
from prometheus_client.parser import text_string_to_metric_families

from gateway.app import create_app
from gateway.settings import Settings


def hostile(chance, word):
    """A request with this word in all that a client chooses."""
    return {
        "method": chance.choice(("GET", "POST", "PUT", word.upper())),
        "url": chance.choice((f"/{word}", f"/v1/ocr/{word}", "/v1/ocr", "/ocr", f"/problems/{word}", f"/docs/{word}")),
        "params": {word: word, "format": word},
        "headers": {
            "X-Request-Id": word,
            "X-API-Key": word,
            "Authorization": f"Bearer {word}",
            "X-Priority": word,
            "traceparent": word,
            "Content-Type": f"{word}/{word}",
            "Host": f"{word}.example",
        },
        "content": word,
    }


async def test_what_clients_choose_never_becomes_a_label():
    chance = random.Random(1)
    words = ["".join(chance.choices(string.ascii_lowercase, k=12)) for _ in range(150)]
    app = create_app(Settings(), FakeModels(), first_look_s=0.0)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client,
    ):
        for word in words:
            await client.request(**hostile(chance, word))
        metrics = (await client.get("/metrics")).text
    families = list(text_string_to_metric_families(metrics))
    values = {value.lower() for family in families for sample in family.samples for value in sample.labels.values()}
    assert {"/v1/ocr", "/ocr", "unmatched", "/problems/{code}", "other"} <= values
    assert not [value for value in values for word in words if word in value]
