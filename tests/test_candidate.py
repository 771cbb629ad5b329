"""A candidate is found, called while it can be, fallen back from, and let go."""

from dataclasses import dataclass, field, replace

import pytest
from fake_models import FakeModels
from prometheus_client import REGISTRY

from gateway.candidate import Candidate, Candidates, FallingBack
from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, InferenceTimeout, InvalidRequest, Overloaded
from gateway.metrics import StageTimes
from gateway.ocr.elements import Page, Picture
from gateway.ocr.options import PageOptions


def sample(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


@dataclass
class Reader:
    """Gives a page of its own width, or raises."""

    width: int
    error: Exception | None = None
    opened: list = field(default_factory=list)
    deadlines: list = field(default_factory=list)

    async def open(self, data, options, *, deadline, times):
        self.opened.append(data)
        return data

    async def read(self, file, number, options, *, deadline, times):
        self.deadlines.append(deadline)
        if self.error:
            raise self.error
        return Page(Picture("PNG", "RGB", self.width, 1), self.width, 1, ())


class Servers:
    """What there is on them, and what has been connected."""

    def __init__(self):
        self.share, self.error, self.connected = None, None, []

    async def find_share(self):
        if self.error:
            raise self.error
        return self.share

    def connect(self):
        self.connected.append(Models(self))
        return Candidate(self.connected[-1], Reader(1))


class Models(FakeModels):
    def __init__(self, servers):
        super().__init__()
        self.servers_ = servers

    async def refresh(self):
        self.contract = replace(self.contract, share=self.servers_.share)

    async def close(self):
        self.closed = True


@pytest.fixture
def servers():
    return Servers()


@pytest.fixture
def candidates(servers):
    return Candidates(servers.find_share, servers.connect, interval_s=60)


async def test_without_a_candidate_nothing_is_connected(servers, candidates):
    await candidates.look()
    assert candidates.current is None
    assert servers.connected == []
    assert sample("ocr_candidate_share") == -1


async def test_a_candidate_is_connected_once_and_its_share_followed(servers, candidates):
    for share in (10.0, 25.0):
        servers.share = share
        await candidates.look()
        assert candidates.current.share == share
        assert sample("ocr_candidate_share") == share
    assert len(servers.connected) == 1


async def test_a_candidate_that_is_withdrawn_is_let_go(servers, candidates):
    servers.share = 10.0
    await candidates.look()
    servers.share = None
    await candidates.look()
    assert candidates.current is None
    assert servers.connected[0].closed
    assert sample("ocr_candidate_share") == -1


async def test_one_whose_models_can_not_be_called_is_none_for_now(servers, candidates):
    servers.share = 10.0
    await candidates.look()
    servers.connected[0].outage = "not loaded"
    assert candidates.current is None
    servers.connected[0].outage = ""
    assert candidates.current is not None


async def test_nothing_is_concluded_from_servers_that_do_not_answer(servers, candidates):
    servers.share = 10.0
    await candidates.look()
    servers.error = BackendUnavailable("away")
    await candidates.look()
    assert candidates.current.share == 10.0


async def read(candidate, serving, deadline=None):
    reader, times = FallingBack(candidate, serving), StageTimes()
    deadline = deadline or Deadline.after(60)
    file = await reader.open(b"data", PageOptions(), deadline=deadline, times=times)
    return await reader.read(file, 1, PageOptions(), deadline=deadline, times=times)


async def test_a_page_is_read_by_the_candidate_in_half_of_its_time():
    candidate, serving = Reader(1), Reader(2)
    assert (await read(candidate, serving)).width == 1
    assert serving.opened == [b"data"]
    assert candidate.deadlines[0].timeout_s == pytest.approx(30, abs=1)
    assert serving.deadlines == []


@pytest.mark.parametrize("error", [BackendUnavailable("gone"), InferenceTimeout("late"), Overloaded("full")])
async def test_a_page_that_it_can_not_read_is_read_by_those_that_serve_and_says_so(error):
    before = sample("ocr_candidate_fallbacks_total", code=error.code)
    page = await read(Reader(1, error), Reader(2))
    assert page.width == 2
    assert [(warning.code, error.code in warning.detail) for warning in page.warnings] == [("candidate_failed", True)]
    assert sample("ocr_candidate_fallbacks_total", code=error.code) == before + 1


async def test_what_is_the_requests_own_fault_is_not_tried_again():
    serving = Reader(2)
    with pytest.raises(InvalidRequest):
        await read(Reader(1, InvalidRequest("no")), serving)
    assert serving.deadlines == []
