import asyncio

import pytest

from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout
from gateway.supervision import GivenUpError, Progress, RestartHistory, RestartPolicy, Supervisor, start
from triton_models.preconditions import PreconditionError
from triton_models.server import TritonStartError

QUICK = RestartPolicy(first_pause_s=0.0, check_interval_s=0.0, recheck_interval_s=0.0)


class Enough(Exception):
    """Ends a supervision that would go on for ever."""


class FakeServer:
    """Runs, until a test sets its exit code; starts take the next outcome of a list, which is an error or None."""

    name = "triton"

    def __init__(self, *outcomes):
        self.code = None
        self.calls = []
        self._outcomes = list(outcomes)

    def exit_code(self):
        return self.code

    def start(self):
        self.calls.append("start")

    def wait_ready(self, timeout_s, while_waiting):
        while_waiting(0.0)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if outcome is not None:
            raise outcome
        self.code = None

    def stop(self, timeout_s):
        self.calls.append(f"stop within {timeout_s:g} s")


class Check:
    """Takes the next outcome of a list, which is an error or None; raises `Enough` at its end."""

    def __init__(self, *outcomes):
        self._outcomes = list(outcomes)

    async def __call__(self):
        await asyncio.sleep(0)
        if not self._outcomes:
            raise Enough
        outcome = self._outcomes.pop(0)
        if outcome is not None:
            raise outcome


ERROR = InferenceFailed("model: failed")
SILENCE = InferenceTimeout("model: no sign of life")


async def supervised(server, check, policy=QUICK, require_others=lambda: None):
    """What was said until `Enough`."""
    said = []
    with pytest.raises(Enough):
        await Supervisor(server, check, require_others, said.append, policy).run()
    return said


@pytest.mark.parametrize(
    ("earlier", "pause_s"),
    [
        ([], 0.0),
        ([399.9], 0.0),
        ([400.1], 1.0),
        ([401.0, 402.0], 2.0),
        ([300.0, 401.0, 402.0], 2.0),
        ([401.0, 402.0, 403.0], None),
        ([399.0, 402.0, 403.0], 2.0),
    ],
)
def test_pauses_grow_with_the_restarts_of_the_last_time_until_there_are_too_many(earlier, pause_s):
    history = RestartHistory(RestartPolicy(most=3, window_s=600.0, first_pause_s=1.0))
    for time in earlier:
        history.next_pause_s(time)
    assert history.next_pause_s(1000.0) == pause_s


@pytest.mark.parametrize(
    "outcomes",
    [
        [],
        [None],
        [ERROR],
        [SILENCE, SILENCE],
        [ERROR, None, ERROR, None, ERROR, None, SILENCE, SILENCE, None, SILENCE, SILENCE],
    ],
    ids=["not checked yet", "works", "answers an error", "does not answer twice", "fails now and then"],
)
async def test_a_server_that_works_or_has_failed_a_few_checks_is_left_alone(outcomes):
    server = FakeServer()
    assert await supervised(server, Check(*outcomes)) == []
    assert server.calls == []


@pytest.mark.parametrize(
    "outcomes",
    [[ERROR, ERROR], [SILENCE, SILENCE, SILENCE], [SILENCE, ERROR], [ERROR, SILENCE, SILENCE]],
    ids=["two errors", "three times no answer", "an error after silence", "silence after an error"],
)
async def test_a_server_that_fails_too_many_checks_in_a_row_is_restarted_by_force(outcomes):
    server = FakeServer()
    said = await supervised(server, Check(*outcomes, None))
    assert server.calls == ["stop within 0 s", "start"]
    assert said == [
        f"triton does not work ({outcomes[-1].detail}); restarting it (restart 1 of at most 5)",
        "triton is ready again after 0.0 s",
    ]


async def test_a_server_that_has_ended_is_restarted_without_a_check():
    server = FakeServer()
    server.code = -9
    said = await supervised(server, Check())
    assert server.calls == ["stop within 0 s", "start"]
    assert said[0] == "triton ended by itself with exit code -9; restarting it (restart 1 of at most 5)"


@pytest.mark.parametrize("error", [TritonStartError("no such model"), PreconditionError("no such model")])
async def test_a_restart_that_fails_is_followed_by_another(error):
    server = FakeServer(error)
    server.code = 1
    said = await supervised(server, Check())
    assert server.calls == ["stop within 0 s", "start", "stop within 0 s", "stop within 0 s", "start"]
    assert said[1] == "triton did not start: no such model; restarting it (restart 2 of at most 5)"


async def test_a_server_that_always_fails_is_given_up_with_the_last_reason():
    server = FakeServer(*(TritonStartError(f"reason {number}") for number in range(5)))
    server.code = 1
    said = []
    supervisor = Supervisor(server, Check(), lambda: None, said.append, QUICK)
    with pytest.raises(GivenUpError, match="triton did not start: reason 4; given up after 5 restarts in 10 min"):
        await supervisor.run()
    assert server.calls.count("start") == len(said) == 5


async def test_without_the_others_there_is_no_restart():
    """The gateway's end is found while the server is watched, while a pause lasts and while the server loads."""
    server = FakeServer(TritonStartError("first"))
    server.code = 1
    looks = 0

    def require_others():
        nonlocal looks
        looks += 1
        if looks == 3:
            raise Enough

    policy = RestartPolicy(first_pause_s=60.0)
    assert len(await supervised(server, Check(), policy, require_others)) == 2
    assert server.calls == ["stop within 0 s", "start", "stop within 0 s", "stop within 0 s"]


async def test_a_check_that_is_under_way_is_cancelled_when_the_server_ends():
    server = FakeServer()
    cancelled = []

    async def check():
        server.code = -9
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    def require_others():
        if cancelled:
            raise Enough

    await supervised(server, check, require_others=require_others)
    assert cancelled


async def test_a_bug_in_the_check_is_not_taken_for_the_servers():
    supervisor = Supervisor(FakeServer(), Check(BackendUnavailable("x"), KeyError("bug")), lambda: None, print, QUICK)
    with pytest.raises(KeyError, match="bug"):
        await supervisor.run()


def test_a_first_start_that_fails_is_not_repeated_and_leaves_nothing_running():
    server = FakeServer(TritonStartError("no such model"))
    with pytest.raises(TritonStartError, match="no such model"):
        start(server, lambda: None, print)
    assert server.calls == ["start", "stop within 0 s"]


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([], []),
        ([0.0, 4.9], []),
        ([5.0, 5.1, 9.9], ["loading (5 s)"]),
        ([5.1, 10.2, 16.0], ["loading (5 s)", "loading (10 s)", "loading (16 s)"]),
    ],
)
def test_progress_is_said_every_five_seconds(times, said):
    heard = []
    progress = Progress("loading", heard.append)
    for elapsed_s in times:
        progress(elapsed_s)
    assert heard == said


def test_progress_has_a_reason_where_there_is_one():
    heard = []
    Progress("not ready", heard.append)(7.0, "no answer")
    assert heard == ["not ready (7 s): no answer"]
