"""The short drills: a few faults on a real Triton, once each."""

import asyncio
from pathlib import Path

import pytest

from tests.drills.campaign import Bench, open_bench
from tests.drills.faults import FAULTS, SHORT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

HOME = Path(__file__).parents[2] / ".local"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return asyncio.run(open_bench(HOME, print))


@pytest.mark.parametrize("name", SHORT)
async def test_every_request_is_accounted_for(bench: Bench, name: str) -> None:
    result = await bench.drill(name, FAULTS[name], 1)
    assert result.findings == []
    assert [
        judgement.limit.promise for judgement in result.judgements if judgement.limit.binding and not judgement.met
    ] == []
