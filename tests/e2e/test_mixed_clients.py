"""32 clients with all dialects and mixed options on a real Triton: each gets what it gets when it asks alone.

That the comparison would notice an option that stays is tested, too: a leak is made by sending a client's request with
the options of the next one of its kind.
"""

import asyncio
from base64 import b64encode

import httpx
import pytest
from rendered_pages import png, small_page, turned_page

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CLIENTS = 32
PAGES = [png(small_page(number)) for number in range(3)] + [png(turned_page())]
KINDS = 7
VARYING = ("time", "timestamp", "logId", "request_id")
"""What differs between two answers to the same request."""


def request_of(number, *, options_of=None):
    """The call of a client; of its dialect's options it has its own, or those of another client."""
    data, text = PAGES[number % len(PAGES)], b64encode(PAGES[number % len(PAGES)]).decode()
    choice = (number if options_of is None else options_of) // KINDS
    turns, score = choice % 2 == 0, (0.2, 0.995)[choice // 2 % 2]
    kind = number % KINDS
    return [
        {
            "url": "/ocr",
            "json": {
                "file": text,
                "useTextlineOrientation": turns,
                "textRecScoreThresh": score,
                "returnWordBox": turns,
            },
        },
        {
            "url": "/api/ocr",
            "json": {"base64": text, "options": {"ocr.cls": turns, "data.format": ("dict", "text")[turns]}},
        },
        {"url": "/predict/ocr_system", "json": {"images": [text] * (1 + choice % 2)}},
        {
            "url": "/v1/infer",
            "json": {"input": [{"type": "image_url", "url": text}], "merge_levels": [("paragraph", "word")[turns]]},
        },
        {
            "url": "/ocr",
            "files": {"image_file": ("a", data)},
            "data": {"use_cls": str(turns), "text_score": str(score), "use_rec": str(choice != 1)},
        },
        {"url": "/ocr", "files": {"file": ("a", data)}, "data": {"language": "en"}},
        {
            "url": "/v1/ocr",
            "content": data,
            "params": {"reread": turns, "min_score": score, "level": ("line", "char")[turns], "recognize": choice != 1},
        },
    ][kind]


def stable(value):
    """An answer without what varies, and numbers to two digits: crops of several clients share calls."""
    if isinstance(value, dict):
        return {name: stable(one) for name, one in value.items() if name not in VARYING}
    if isinstance(value, list):
        return [stable(one) for one in value]
    return round(value, 1) if isinstance(value, float) else value


async def answers_to(url, requests, *, at_once):
    """What each request is answered; who is told to wait, waits and asks again."""
    limits = httpx.Limits(max_connections=CLIENTS)
    room = asyncio.Semaphore(at_once)
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=limits) as client:

        async def ask(request):
            async with room:
                answer = await client.post(**request)
                while answer.status_code == 503:
                    await asyncio.sleep(int(answer.headers["retry-after"]))
                    answer = await client.post(**request)
            assert answer.status_code == 200, answer.text
            return stable(answer.json())

        return await asyncio.gather(*map(ask, requests))


@pytest.fixture(scope="module")
def alone(gateway):
    """What each client is answered when nobody else asks."""
    return asyncio.run(answers_to(gateway, [request_of(number) for number in range(CLIENTS)], at_once=1))


async def test_each_client_gets_what_it_gets_alone(gateway, alone):
    together = await answers_to(gateway, [request_of(number) for number in range(CLIENTS)], at_once=CLIENTS)
    assert together == alone


async def test_options_of_another_client_would_be_noticed(gateway, alone):
    noticed = []
    for number in range(KINDS):
        leaked = request_of(number, options_of=number + KINDS)
        [answer] = await answers_to(gateway, [leaked], at_once=1)
        noticed.append(answer != alone[number])
    has_options = [kind != 5 for kind in range(KINDS)]
    assert noticed == has_options
