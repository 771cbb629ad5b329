"""Users of Locust that are sources of requests: each sends at random moments, and never waits for an answer.

A user who waits asks a slow service less often, which hides how slow it is (coordinated omission). So each request has
a greenlet of its own, and its time counts from the moment it was due. A source has one request in each period of
1 / `--rate` seconds, at a random moment of it. The sum of many is close to a Poisson process from one second to the
next, but has no luck in the long run: a step of 20 requests, of which a Poisson process may make 15 or 25, has 20.
"""

import json
import logging
import random
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

import gevent
from locust import FastHttpUser, events, task
from locust.argument_parser import LocustArgumentParser
from locust.contrib.fasthttp import FAILURE_EXCEPTIONS, ResponseContextManager
from locust.env import Environment
from locust.runners import LocalRunner

from loadtest.accuracy.circumstances import ROOT
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.pages import Mixes, find_mixes
from loadtest.capacity.running import RECORDER, UNDER_WAY
from loadtest.capacity.samples import FIRST_PAGE, NO_ANSWER, OK, Sample
from loadtest.gpu.pages import PageFile
from loadtest.server_timing import stage_milliseconds
from loadtest.stages.pages import REFERENCE
from loadtest.terminal import say

LOG = logging.getLogger(__name__)
OCR_PATH = "/v1/ocr"
NO_LIMIT = 1_000_000
GRACE_S = 5.0
"""Longer than the service itself is given: it answers what it could not do in time, and that is to be seen."""
STAGE = "stage"
BROKEN_OFF = "broken off"
EXIT_UNUSABLE = 2
PAGES: dict[str, Iterator[PageFile]] = {}
"""By mix, round and round; every user of a mix takes the next one."""


class PageSource(FastHttpUser):
    """Sends the pages of a mix.

    Attributes:
        mix: which one; its rows in Locust begin with it.
        kind: what a request is, the type of its row.
        accept: which form of the answer is asked for.
    """

    abstract = True
    concurrency = NO_LIMIT  # or requests would queue in here, unseen
    mix: ClassVar[str]
    kind: ClassVar[str] = "page"
    accept: ClassVar[str] = "application/json"

    def __init__(self, environment: Environment) -> None:
        self.options: Namespace = environment.parsed_options
        self.network_timeout = self.options.timeout + GRACE_S
        super().__init__(environment)
        self.period_at = time.time()

    @task
    def arrive(self) -> None:
        """Wait until the next request is due, and let it go its own way."""
        period_s = 1.0 / self.options.rate
        due_at = self.period_at + random.uniform(0.0, period_s)
        self.period_at += period_s
        gevent.sleep(max(0.0, due_at - time.time()))
        UNDER_WAY.start(gevent.Greenlet(self.send, due_at, next(PAGES[self.mix])))

    def send(self, due_at: float, page: PageFile) -> None:
        """One request, its answer, and its rows."""
        with self.client.post(
            f"{OCR_PATH}?timeout={self.options.timeout:g}{'&' * bool(self.options.query)}{self.options.query}",
            data=page.data,
            name=self.mix,
            headers=headers(self.options.api_key, self.accept),
            stream=True,
            catch_response=True,
        ) as answer:
            stages_ms, code = self.read_all(answer, due_at)
            sample = Sample(self.mix, due_at, time.time() - due_at, answer.status_code or NO_ANSWER, code, stages_ms)
            if not sample.good:
                answer.failure(f"{sample.status} {code}")
            answer.request_meta |= {"request_type": self.kind, "response_time": 1000 * sample.seconds}
        RECORDER.add_sample(sample)
        if sample.good:
            self.show(stages_ms)

    def read_all(self, answer: ResponseContextManager, due_at: float) -> tuple[dict[str, float], str]:
        """Milliseconds by stage, and a word for what went wrong."""
        if not answer.status_code:
            return {}, type(answer.error).__name__
        try:
            return self.read(answer, due_at)
        except (*FAILURE_EXCEPTIONS, ValueError):
            return {}, BROKEN_OFF

    def read(self, answer: ResponseContextManager, due_at: float) -> tuple[dict[str, float], str]:  # noqa: ARG002
        """The rest of an answer; may raise what a connection does, and ValueError for half a line."""
        body = answer.content or b""
        answer.request_meta["response_length"] = len(body)
        if answer.status_code != OK:
            return {}, problem_code(body)
        return stage_milliseconds(answer.headers.get("server-timing") or ""), ""

    def show(self, times_ms: Mapping[str, float]) -> None:
        """A row for each of them; not by an event, which would count them as requests."""
        for name, milliseconds in times_ms.items():
            self.environment.stats.get(f"{self.mix}: {name}", STAGE).log(round(milliseconds, 1), 0)


class DocumentSource(PageSource):
    """Sends documents and reads their pages as they come; the first page has a row of its own."""

    abstract = True
    kind = "document"
    accept = "application/x-ndjson"

    def read(self, answer: ResponseContextManager, due_at: float) -> tuple[dict[str, float], str]:
        """As of a page, from the lines of a stream."""
        if answer.status_code != OK:
            return super().read(answer, due_at)
        times_ms, last = {}, {}
        while line := answer.stream.readline(b"\n"):
            last = json.loads(line)
            if last["event"] == "page":
                times_ms.setdefault(FIRST_PAGE, 1000 * (time.time() - due_at))
        return times_ms | last.get("stages_ms", {}), stream_fault(last)


def headers(api_key: str | None, accept: str) -> dict[str, str]:
    """Of a request. It has a connection of its own: an idle one may just be closed, and a POST is not sent twice."""
    own = {"Accept": accept, "Accept-Encoding": "identity", "Connection": "close"}
    return own | {"Content-Type": "application/octet-stream"} | ({"X-Api-Key": api_key} if api_key else {})


def problem_code(body: bytes) -> str:
    """The code of a problem document; nothing if it is none, such as a proxy's page."""
    try:
        return str(json.loads(body)["code"])
    except (ValueError, TypeError, KeyError):
        return ""


def stream_fault(last: Mapping[str, Any]) -> str:
    """What is wrong with a stream that ends with this line; nothing if all of its pages were read."""
    if last.get("event") != "end":
        return BROKEN_OFF
    return f"{last['errors']} pages could not be read" if last["errors"] else ""


@events.init_command_line_parser.add_listener
def add_options(parser: LocustArgumentParser) -> None:
    """Options beside Locust's own; all can be changed in the web UI but those that are files."""
    parser.add_argument("--rate", type=float, default=1.0, help="requests a second of each user, on average (1)")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds a request may take (30)")
    parser.add_argument("--query", default="", help="further options of each request, such as level=word")
    parser.add_argument("--api-key", env_var="OCR_API_KEY", default="", is_secret=True, help="where clients have keys")
    files = {  # as text: Locust sends them to its workers
        "--images": ("", "folder whose files are sent, in place of the mixes"),
        "--corpus": (str(ROOT.parent / "shared" / "corpus"), "where the mixes are from (beside this repository)"),
        "--samples": ("", "file for a JSON line a request"),
    }
    for name, (default, told) in files.items():
        parser.add_argument(name, default=default, include_in_web_ui=False, help=told)


@events.init.add_listener
def prepare(environment: Environment, **_: object) -> None:
    """Read what is to be sent; end with a sentence if there is nothing."""
    options = environment.parsed_options
    try:
        mixes = find_mixes(Path(options.corpus), Path(options.images) if options.images else None)
        choose_users(environment, mixes)
        record(options, alone=isinstance(environment.runner, LocalRunner))
    except CapacityError as error:
        say(f"locustfile: {error}")
        sys.exit(EXIT_UNUSABLE)
    PAGES.update({mix: cycle(pages) for mix, pages in mixes.items()})
    if REFERENCE in mixes:
        LOG.warning("no corpus at %s: a drawn page takes the place of its mixes", options.corpus)
    sent = ", ".join(one.mix for one in environment.user_classes)
    LOG.info("sent are %s; each user sends %g requests a second", sent, options.rate)
    gevent.get_hub().loop.update_now()  # it stood still meanwhile, and `--run-time` would begin in the past


def choose_users(environment: Environment, mixes: Mixes) -> None:
    """Leave out those who have nothing to send.

    Raises:
        CapacityError: nobody has.
    """
    asked = environment.user_classes
    environment.user_classes = [one for one in asked if one.mix in mixes]
    if not environment.user_classes:
        names = ", ".join(one.__name__ for one in asked)
        raise CapacityError(f"nothing to send for {names}: there are files for {', '.join(mixes)}")
    picked = (environment.available_user_classes or {}).items()  # the class picker's
    environment.available_user_classes = {name: one for name, one in picked if one.mix in mixes}


def record(options: Namespace, *, alone: bool) -> None:
    """Open the file of samples, if there is to be one.

    Raises:
        CapacityError: there are several processes.
    """
    if options.samples and not alone:
        raise CapacityError("--samples writes the requests of one process: leave out --master, --worker, --processes")
    if options.samples:
        RECORDER.file = Path(options.samples).open("w", encoding="utf-8")  # noqa: SIM115 - until the end of the process


@events.test_stop.add_listener
def wait_for_answers(environment: Environment, **_: object) -> None:
    """Or the slowest answers, those still under way, would be in no figure."""
    if not UNDER_WAY.join(environment.parsed_options.timeout + GRACE_S):
        LOG.warning("%d requests were not answered, and are in no figure", len(UNDER_WAY))
