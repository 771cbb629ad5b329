"""How long a client goes on: decisions only, so that the clients that sleep and those that await share them.

A request is a pure function of its file, so it may be sent again after anything. Who is told to wait does so, then
twice as long each time, up to half a minute; who would wait beyond the deadline gives up at once.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import httpx

from gateway.client.errors import ClientError, NoAnswer, Problem

Option: TypeAlias = str | int | float | bool
"""The value of an option of the API."""

Outcome: TypeAlias = httpx.Response | httpx.TransportError
"""What came of one attempt."""

LONGEST_WAIT_S = 30.0
RECONNECT_S = 0.5
"""The first wait after a connection that broke or was refused."""

LONGEST_TIMEOUT_S = 120.0
"""The most that a service takes for `timeout`, unless it is set up otherwise."""


@dataclass(slots=True)
class Patience:
    """What is left of the time for one answer.

    Attributes:
        timeout_s: for everything: attempts and waits.
        clock: in seconds.
    """

    timeout_s: float
    clock: Callable[[], float] = time.monotonic
    _attempts: int = 0
    _ends_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends_at = self.clock() + self.timeout_s

    @property
    def remaining_s(self) -> float:
        """Never nothing, because HTTP clients take that for no limit."""
        return max(0.001, self._ends_at - self.clock())

    def parameters(self, options: Mapping[str, Option]) -> dict[str, Option]:
        """The query of the next attempt: the service is told what time is left."""
        return {"timeout": round(min(self.remaining_s, LONGEST_TIMEOUT_S), 3), **options}

    def wait_s(self, outcome: Outcome) -> float | None:
        """How long to wait before the next attempt; None if the outcome is a success.

        Raises:
            ClientError: it is none, and there will be no other.
        """
        if isinstance(outcome, httpx.Response) and outcome.is_success:
            return None
        error, first_wait_s = _judge(outcome)
        wait_s = min(LONGEST_WAIT_S, (first_wait_s or 0.0) * 2.0**self._attempts)
        self._attempts += 1
        if first_wait_s is None or wait_s >= self.remaining_s:
            raise error
        return wait_s


def _judge(outcome: Outcome) -> tuple[ClientError, float | None]:
    """The error, and how long to wait before another attempt; None if that makes no sense."""
    if isinstance(outcome, httpx.Response):
        problem = Problem.of(outcome)
        return problem, problem.retry_after_s if problem.retryable else None
    is_over = isinstance(outcome, httpx.ReadTimeout | httpx.WriteTimeout | httpx.PoolTimeout)
    error = NoAnswer(f"{type(outcome).__name__}: {outcome}" if str(outcome) else type(outcome).__name__)
    error.__cause__ = outcome
    return error, None if is_over else RECONNECT_S
