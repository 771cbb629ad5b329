"""Many clients at once on one Triton: each gets the answer that it would get alone, from calls that they share."""

import asyncio
import random

import httpx
import pytest
from gateways import assert_same_answer
from prometheus_client.parser import text_string_to_metric_families
from rendered_pages import blank_page, lines_of_words, page, png, small_page, turned_page, wide_line

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CLIENTS = 64
MIXED_PAGES = [
    *(png(small_page(number)) for number in range(9)),
    *(png(page(lines_of_words(4, first=number), width=400, height=200)) for number in range(20, 24)),
    png(turned_page()),
    png(wide_line()),
    png(blank_page()),
]


def client_of(url):
    return httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=httpx.Limits(max_connections=CLIENTS))


async def read(client, data):
    answer = await client.post("/v1/ocr", params={"timeout": 120, "min_side": 0}, content=data)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def chunks_so_far(client):
    """Rows and calls of the recogniser, from the metrics."""
    text = (await client.get("/metrics")).text
    samples = {
        sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples
    }
    return samples["ocr_chunk_rows_sum"], samples["ocr_chunk_rows_count"]


async def rows_per_call(client, work):
    """What `work` gives, and the mean rows of the calls made meanwhile."""
    rows, calls = await chunks_so_far(client)
    result = await work
    rows_after, calls_after = await chunks_so_far(client)
    return result, (rows_after - rows) / (calls_after - calls)


async def one_after_the_other(client, pages):
    return [await read(client, data) for data in pages]


async def all_at_once(client, pages):
    return await asyncio.gather(*(read(client, data) for data in pages))


async def test_64_clients_get_what_each_would_get_alone_and_their_lines_share_calls(gateway, measured):
    order = [*range(len(MIXED_PAGES))] * (CLIENTS // len(MIXED_PAGES))
    random.Random(64).shuffle(order)
    async with client_of(gateway) as client:
        alone, rows_alone = await rows_per_call(client, one_after_the_other(client, MIXED_PAGES))
        together, rows_together = await rows_per_call(
            client, all_at_once(client, [MIXED_PAGES[index] for index in order])
        )
    measured(f"rows per recognition call: {rows_alone:.2f} with 1 client, {rows_together:.2f} with {len(order)}")
    assert len(order) == CLIENTS
    for index, answer in zip(order, together, strict=True):
        assert_same_answer(answer, alone[index])
    assert rows_together > rows_alone
