"""One drill: a stand, a load, a fault in the middle of it, and the ledger afterwards."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tests.drills.course import Course, first_of_steady
from tests.drills.driver import Load
from tests.drills.errors import DrillError
from tests.drills.fault import Fault
from tests.drills.ledger import Excuses, Finding, Ledger, Span
from tests.drills.limits import Judgement, judge
from tests.drills.pages import Pages
from tests.drills.processes import wait_until
from tests.drills.stand import DEADLINE_S, Stand, Workshop, built
from tests.drills.watch import Watch

CALM_S = 2.0
AFTER_S = 4.0
STEADY = 10
STEADY_TIMEOUT_S = 20.0
CUT_MARGIN_S = 0.5
"""A connection may break this long after the process at its other end."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one drill.

    Attributes:
        fault: its name.
        repeat: counts from 1.
        course: see there.
        findings: what nobody can explain.
        judgements: the goals.
        lag_s: by how much the client itself was late.
    """

    fault: str
    repeat: int
    course: Course
    findings: Sequence[Finding]
    judgements: Sequence[Judgement]
    lag_s: float


async def make(
    name: str, fault: Fault, repeat: int, workshop: Workshop, *, pages: Pages, texts: Mapping[str, str]
) -> Result:
    """Make a drill; on the main thread.

    Raises:
        DrillError, PreconditionError, TritonStartError: it could not be made.
    """
    folder = f"{name}-{repeat}"
    async with built(fault.plan, workshop, folder) as stand:
        load = Load(stand.url, pages, fault.load, prefix=folder)
        course = await run(fault, stand, load)
        for gateway in stand.gateways:
            await gateway.settle()
    accounts = [life.account() for gateway in stand.gateways for life in gateway.lives]
    ledger = Ledger(course.exchanges, accounts, texts, excuses(fault, course))
    return Result(name, repeat, course, ledger.findings(), judge(fault.limits, course), load.lag_s)


async def run(fault: Fault, stand: Stand, load: Load) -> Course:
    """Ask, break, mend, and go on asking until all is well again or time is up."""
    started_at = time.monotonic()
    async with Watch(stand.gateways) as watch, load:
        await asyncio.sleep(CALM_S)
        injected_at = time.monotonic()
        await fault.inject(stand)
        await asyncio.sleep(fault.lasts_s)
        await fault.heal(stand)
        healed_at = time.monotonic()
        course = Course(
            started_at, injected_at, healed_at, DEADLINE_S, load.exchanges, watch.ready, watch.alive, stand.noted
        )
        await asyncio.sleep(AFTER_S)
        await settle(course, watch)
    return course


async def settle(course: Course, watch: Watch) -> None:
    """Wait until the latest answers were pages and every gateway calls itself ready; or time is up."""

    async def is_well() -> bool:
        return is_steady(course) and watch.all_ready()

    with suppress(DrillError):  # the limits say so
        await wait_until(is_well, STEADY_TIMEOUT_S, "all is not well again")


def is_steady(course: Course) -> bool:
    """Whether the latest answers were pages."""
    first = first_of_steady(course)
    return first is not None and sum(one.sent_at >= first.sent_at for one in course.exchanges) >= STEADY


def excuses(fault: Fault, course: Course) -> Excuses:
    """What the fault explains."""
    cut = (Span(course.injected_at, course.healed_at + CUT_MARGIN_S),) if fault.cuts else ()
    return Excuses(fault.codes, course.injected_at, cut)
