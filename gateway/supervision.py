"""Restarting a Triton that has ended, hangs, or answers nothing but errors: what `serve` does for the local pair.

The gateway stays up meanwhile and answers 503. A server that breaks down again and again is given up, because whatever
is wrong with it then, restarting does not mend it.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from gateway.errors import InferenceTimeout, OcrError
from triton_models.preconditions import PreconditionError
from triton_models.server import TritonStartError

POLL_INTERVAL_S = 0.2
# Loading takes seconds on an idle machine, and minutes on one that is busy with other things.
START_TIMEOUT_S = 180.0
PROGRESS_INTERVAL_S = 5.0

Say = Callable[[str], None]


class Server(Protocol):
    """A server process; `TritonProcess` is one."""

    name: str

    def exit_code(self) -> int | None:
        """Its exit code, or None while it runs."""

    def start(self) -> None:
        """Start it; errors as of `TritonProcess`."""

    def wait_ready(self, timeout_s: float, while_waiting: Callable[[float], None]) -> None:
        """Wait until it takes calls; errors as of `TritonProcess`."""

    def stop(self, timeout_s: float) -> None:
        """End it, by force after `timeout_s`."""


class GivenUpError(Exception):
    """The server has been restarted too often; the message says what was wrong with it last."""


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often a server is restarted.

    Attributes:
        most: restarts within the window.
        window_s: after which a restart is forgotten.
        first_pause_s: before the second restart within the window; doubled for each one more. The first has none.
        check_interval_s: between checks of a server that works.
        recheck_interval_s: between checks of one that has just failed one.
        errors: failed checks in a row until a server is restarted that answers with errors.
        silences: the same of one that does not answer; the whole machine may be slow, and that passes.
    """

    most: int = 5
    window_s: float = 600.0
    first_pause_s: float = 0.5
    check_interval_s: float = 1.0
    recheck_interval_s: float = 0.25
    errors: int = 2
    silences: int = 3


@dataclass(slots=True)
class RestartHistory:
    """Remembers restarts to say how long to wait before the next one.

    Attributes:
        policy: how often is too often.
        times: of the restarts within the window, on the monotonic clock.
    """

    policy: RestartPolicy
    times: deque[float] = field(default_factory=deque)

    def next_pause_s(self, now: float) -> float | None:
        """Seconds to wait before the restart that is due now, which is remembered; None if it is one too many."""
        while self.times and self.times[0] <= now - self.policy.window_s:
            self.times.popleft()
        earlier = len(self.times)
        if earlier == self.policy.most:
            return None
        self.times.append(now)
        return self.policy.first_pause_s * 2 ** (earlier - 1) if earlier else 0.0


class Supervisor:
    """Watches one server and restarts it."""

    def __init__(
        self,
        server: Server,
        check: Callable[[], Awaitable[object]],
        require_others: Callable[[], None],
        say: Say,
        policy: RestartPolicy | None = None,
    ) -> None:
        """Prepare; the server has been started already.

        Args:
            server: what is restarted.
            check: raises OcrError if the server does not work, although it runs.
            require_others: raises if it makes no sense to go on; called all the time.
            say: tells the person at the terminal.
            policy: when to restart, and how often.
        """
        self._server = server
        self._check = check
        self._require_others = require_others
        self._say = say
        self._policy = policy or RestartPolicy()
        self._history = RestartHistory(self._policy)

    async def run(self) -> NoReturn:
        """Watch for ever.

        Raises:
            GivenUpError: it had to be restarted too often.
            Exception: whatever `require_others` raises.
        """
        while True:
            fault = await self._next_fault()
            while fault:
                fault = await self._restart(fault)

    async def _next_fault(self) -> str:
        """Wait until something is wrong that does not pass by itself; what it is."""
        checking = asyncio.create_task(self._lasting_trouble())
        try:
            while not checking.done():
                self._require_others()
                if (code := self._server.exit_code()) is not None:
                    return f"ended by itself with exit code {code}"
                await asyncio.wait((checking,), timeout=POLL_INTERVAL_S)
            return f"does not work ({checking.result()})"
        finally:
            checking.cancel()
            await asyncio.wait((checking,))

    async def _lasting_trouble(self) -> str:
        """Check until it has failed too many times in a row; why it failed last."""
        policy, failures = self._policy, 0
        while True:
            await asyncio.sleep(policy.recheck_interval_s if failures else policy.check_interval_s)
            try:
                await self._check()
            except OcrError as error:
                failures += 1
                if failures >= (policy.silences if isinstance(error, InferenceTimeout) else policy.errors):
                    return error.detail
            else:
                failures = 0

    async def _restart(self, fault: str) -> str:
        """Restart it after a pause; why that failed, empty if it did not."""
        name, policy = self._server.name, self._policy
        pause_s = self._history.next_pause_s(time.monotonic())
        if pause_s is None:
            raise GivenUpError(f"{name} {fault}; given up after {policy.most} restarts in {policy.window_s / 60:g} min")
        self._say(f"{name} {fault}; restarting it (restart {len(self._history.times)} of at most {policy.most})")
        self._server.stop(timeout_s=0.0)
        await self._pause(pause_s)
        return self._start()

    async def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._require_others()
            await asyncio.sleep(min(left, POLL_INTERVAL_S))

    def _start(self) -> str:
        began_at = time.monotonic()
        try:
            start(self._server, self._require_others, self._say)
        except (PreconditionError, TritonStartError) as error:
            return f"did not start: {error}"
        self._say(f"{self._server.name} is ready again after {time.monotonic() - began_at:.1f} s")
        return ""


def start(server: Server, require_others: Callable[[], None], say: Say) -> None:
    """Start it and wait until it is ready, saying now and then that it is not.

    Raises:
        PreconditionError, TritonStartError: it does not start; the message says why.
        Exception: whatever `require_others` raises.
    """
    progress = Progress(f"{server.name} is loading its models", say)

    def while_waiting(elapsed_s: float) -> None:
        require_others()
        progress(elapsed_s)

    try:
        server.start()
        server.wait_ready(START_TIMEOUT_S, while_waiting)
    except BaseException:
        server.stop(timeout_s=0.0)
        raise


class Progress:
    """Says every few seconds that something is still going on."""

    def __init__(self, what: str, say: Say) -> None:
        self._what = what
        self._say = say
        self._due_s = PROGRESS_INTERVAL_S

    def __call__(self, elapsed_s: float, reason: str = "") -> None:
        """To be called all the time, with the seconds since the beginning."""
        if elapsed_s >= self._due_s:
            self._due_s += PROGRESS_INTERVAL_S
            self._say(f"{self._what} ({elapsed_s:.0f} s){reason and ': '}{reason}")
