"""A shape of Locust that raises the rate step by step, and says what it found.

Between steps nobody sends anything until every answer is there, so that each step begins with a quiet service and no
request counts for another step than its own.
"""

import logging
import sys
import time
from argparse import Namespace

from locust import LoadTestShape, events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import LocalRunner

from loadtest.capacity.running import RECORDER, UNDER_WAY
from loadtest.capacity.samples import Step
from loadtest.capacity.steps import StepResult, enough, summarize
from loadtest.capacity.told import conclusion, in_short
from loadtest.capacity.users import EXIT_UNUSABLE
from loadtest.terminal import say

LOG = logging.getLogger(__name__)
MOST_USERS_A_SECOND = 100
"""So many sources Locust starts without a warning."""
LAST_WORDS_S = 10.0
"""How long a test goes on for its page, which fetches no more lines of the log when it is over."""


class Steps(LoadTestShape):
    """Each step has more users than the one before."""

    abstract = True

    def __init__(self) -> None:
        super().__init__()
        RECORDER.kept = True
        self._results: list[StepResult] = []
        self._began_at: float | None = None
        self._ended_at: float | None = None

    def tick(self) -> tuple[int, float] | None:
        """How many users there should be; asked every second."""
        assert self.runner is not None
        options = self.runner.environment.parsed_options
        if self._began_at is None:
            return self._between(options)
        if time.time() - self._began_at < self._length_s(options):
            return self._users(options)
        RECORDER.add_step(Step(self._rate(options), self._began_at, time.time()))
        self._began_at = None
        return 0, MOST_USERS_A_SECOND

    def reset_time(self) -> None:
        """A new test."""
        super().reset_time()
        self._results.clear()
        RECORDER.clear()
        self._began_at = self._ended_at = None

    def _between(self, options: Namespace) -> tuple[int, float] | None:
        """Wait for what is under way, then look at it."""
        if len(UNDER_WAY):
            return 0, MOST_USERS_A_SECOND
        if len(RECORDER.steps) > len(self._results):
            recording = RECORDER.recording()
            step = recording.steps[-1]
            self._results.append(summarize(step, recording.of_step(step)))
            LOG.info("step %d: %s", len(self._results), in_short(self._results[-1]))
        if enough(self._results, options.slo_ms) or len(self._results) == options.steps:
            return self._end(options)
        self._began_at = time.time()
        return self._users(options)

    def _end(self, options: Namespace) -> tuple[int, float] | None:
        """Say what was found, and end the test."""
        if self._ended_at is None:
            self._ended_at = time.time()
            LOG.info(conclusion(self._results, options.slo_ms))
        if options.headless or time.time() - self._ended_at > LAST_WORDS_S:
            return None
        return 0, MOST_USERS_A_SECOND

    def _users(self, options: Namespace) -> tuple[int, float]:
        users = round(options.first_users * options.growth ** len(self._results))
        return users, MOST_USERS_A_SECOND

    def _length_s(self, options: Namespace) -> float:
        return max(options.step_seconds, options.step_requests / self._rate(options))

    def _rate(self, options: Namespace) -> float:
        return options.rate * self._users(options)[0]


@events.init.add_listener
def require_one_process(environment: Environment, **_: object) -> None:
    """The requests of others are not seen here."""
    if not isinstance(environment.runner, LocalRunner):
        say("step_shape: it sees the requests of one process: leave out --master, --worker, --processes")
        sys.exit(EXIT_UNUSABLE)


@events.init_command_line_parser.add_listener
def add_options(parser: LocustArgumentParser) -> None:
    """Options of the steps."""
    parser.add_argument("--step-seconds", type=float, default=60.0, help="length of a step, at least (60)")
    parser.add_argument("--step-requests", type=int, default=20, help="due in a step, at least (20)")
    parser.add_argument("--first-users", type=int, default=10, help="of the first step; each sends --rate (10)")
    parser.add_argument("--growth", type=float, default=1.5, help="users of a step over those of the one before (1.5)")
    parser.add_argument("--steps", type=int, default=12, help="at most (12)")
    parser.add_argument("--slo-ms", type=float, default=200.0, help="what P95 should stay below (200)")
