"""The table of cases, on real sockets; `make edge` writes it to docs/edge-cases.md."""

import asyncio
from collections import Counter

import pytest
from cases import CASES
from raw_http import exchange
from table import DOCUMENT, table

AT_ONCE = 16


def play(port):
    """The outcome of every case, by name."""

    async def play_all():
        places = asyncio.Semaphore(AT_ONCE)

        async def play_one(case):
            async with places:
                return case.name, await exchange(port, *case.steps)

        return dict(await asyncio.gather(*map(play_one, CASES)))

    return asyncio.run(play_all())


@pytest.fixture(scope="module")
def direct(gateway_ports):
    return play(gateway_ports[0])


@pytest.fixture(scope="module")
def behind_nginx(nginx_port):
    return play(nginx_port)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_directly(direct, case):
    assert str(direct[case.name]) == case.direct


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_behind_nginx(behind_nginx, case):
    assert str(behind_nginx[case.name]) == case.nginx


@pytest.mark.parametrize("way", ["direct", "behind_nginx"])
def test_every_refusal_is_a_problem_with_a_request_id(way, request):
    for outcome in request.getfixturevalue(way).values():
        for answer in outcome.answers:
            if answer.status >= 400:
                assert answer.fields["content-type"] == "application/problem+json"
                assert answer.fields["x-request-id"]


def test_the_names_of_the_cases_differ():
    assert Counter(case.name for case in CASES).most_common(1)[0][1] == 1


def test_the_document_is_the_table():
    assert DOCUMENT.read_text() == table()
