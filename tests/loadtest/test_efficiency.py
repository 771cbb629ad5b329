import asyncio

import pytest

from loadtest.efficiency.__main__ import describe
from loadtest.efficiency.bare import calls_of
from loadtest.efficiency.measure import Rates, rate


def test_efficiency_is_the_ratio_of_medians():
    rates = Rates([9.0, 10.0, 1.0], [10.0, 9.0, 11.0])
    assert rates.efficiency == pytest.approx(0.9)
    assert "| set | 8 | 9.00 (1.00-10.00) | 10.00 (9.00-11.00) | **0.900** |" in describe({"set": {8: rates}})


def test_what_was_asked_is_told_apart_by_model():
    calls = calls_of([("text_detection", b"d"), ("text_recognition", b"r"), ("text_recognition", b"s")])
    assert (calls.detection, calls.recognition) == ((b"d",), (b"r", b"s"))


async def test_each_page_is_read_once_and_so_many_at_a_time():
    read, under_way, most = [], 0, 0

    async def one(number):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        read.append(number)

    assert await rate(one, 10, 3) > 0
    assert sorted(read) == list(range(10))
    assert most == 3
