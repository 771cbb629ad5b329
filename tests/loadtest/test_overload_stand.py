"""The overload's processes: who runs where, nginx's configuration, and a short flood of a real gateway."""

import os
from pathlib import Path

import pytest

from gateway.canary import KNOWN_PICTURE
from loadtest.overload.campaign import count_refusals, find_peak
from loadtest.overload.client import Client
from loadtest.overload.errors import OverloadError
from loadtest.overload.goals import ALONE
from loadtest.overload.load import Stream, offer
from loadtest.overload.phases import Requests
from loadtest.overload.reply import NO_ANSWER, REFUSALS
from loadtest.overload.stand import STANDS, Cores, configured_nginx, possible
from tests.deployed_nginx import DEPLOYED, nginx_is_missing
from tests.drills.processes import read_log
from triton_models.server import LOOPBACK


@pytest.mark.parametrize("available", [[], [3]])
def test_one_core_is_not_enough(available: list[int]) -> None:
    with pytest.raises(OverloadError, match="two cores"):
        Cores.of(available)


def test_the_gateway_has_a_core_of_its_own() -> None:
    assert Cores.of([0, 1, 5]) == Cores(frozenset({5}), frozenset({0, 1}))


def test_nginx_is_deployed_with_half_its_caps_in_front_of_one_gateway(tmp_path: Path) -> None:
    configured_nginx(tmp_path / "nginx", 15_002)
    assert "server 127.0.0.1:15002 max_fails" in (tmp_path / "nginx" / "gateways.conf").read_text()
    before, after = ((folder / "nginx.conf").read_text() for folder in (DEPLOYED, tmp_path / "nginx"))
    assert "limit_conn all 128" in before
    assert "limit_conn batch 64" in before
    assert "limit_conn all 64" in after
    assert "limit_conn batch 32" in after


@pytest.mark.e2e
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.parametrize("name", STANDS)
async def test_every_request_of_a_flood_is_answered_once_and_every_refusal_says_when_to_come_again(
    name: str, tmp_path: Path
) -> None:
    if name not in possible([name]):
        pytest.skip("nginx is not on PATH")
    async with STANDS[name](tmp_path, Cores.of(sorted(os.sched_getaffinity(0)))) as stand:
        client = Client(LOOPBACK, stand.port)
        page = Requests(client).page
        peak = await find_peak(client, page, 0.5)
        replies = await offer(client, [Stream("pages", 10 * peak, page)], 2.0)
        (known,) = await offer(client, [Stream("known", 1.0, client.request(KNOWN_PICTURE))], 1.0)
    answers = [reply.answer for reply in replies]
    assert [answer for answer in answers if answer.status == NO_ANSWER or answer.surplus] == []
    refusals = [answer for answer in answers if answer.code in REFUSALS]
    assert refusals
    assert all(answer.retry_after for answer in refusals)
    if stand.name == ALONE:
        _, late = count_refusals(read_log(stand.log_file))
        assert sum(not answer.closes for answer in refusals) <= late
    assert known.accepted


def test_what_is_not_here_is_not_tried() -> None:
    assert possible(["alone"]) == ["alone"]
    assert ("nginx" in possible(tuple(STANDS))) is not bool(nginx_is_missing())
