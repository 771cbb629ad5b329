"""The rollouts from the first to the report: one stand, one load that never stops, and the ledger of all of it."""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.accuracy.circumstances import describe_machine, gateway_version
from loadtest.document import Markers, update_document
from loadtest.rollout.report import Outcome, StepResult, json_report, markdown
from loadtest.rollout.steps import Step
from tests.drills.campaign import open_bench
from tests.drills.driver import Load, LoadPlan
from tests.drills.ledger import Ledger, Span
from tests.drills.pages import Kind
from tests.drills.processes import wait_until
from tests.drills.repositories import MODEL_SET
from tests.drills.stand import Stand, StandPlan, built

MARKERS = Markers.of("rollout")
LINES = (Kind.LINE,)
"""Images of one line, which is not searched for: ten thousand of them are read in minutes on two cores."""
SLACK_S = 30.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    Attributes:
        steps: to be made, in order.
        requests: the load goes on until so many were sent.
        rate: of the load, requests per second; less where the machine can't take it.
        home: folder of the installed Triton and the models.
        out: folder for results.
        document: Markdown file whose generated part is written anew; None for none.
    """

    steps: Sequence[Step]
    requests: int
    rate: float
    home: Path
    out: Path
    document: Path | None


def plan() -> StandPlan:
    """Two of everything."""
    return StandPlan(tritons=2, gateways=2, nginx=True, explicit=True)


async def run(options: Options, say: Say) -> Outcome:
    """Make all rollouts and write what came of them; on the main thread.

    Raises:
        DrillError, PreconditionError, TritonStartError: they could not be made.
    """
    bench = await open_bench(options.home, say)
    load_plan = LoadPlan(rate=options.rate * bench.share, pattern=LINES)
    async with built(plan(), bench.workshop, "rollout") as stand:
        load = Load(stand.url, bench.pages, load_plan, prefix="rollout")
        async with load:
            spans = [await make(step, stand, say) for step in options.steps if step.tritons <= len(stand.nodes)]
            await ask_on(load, options.requests, load_plan.rate)
        for gateway in stand.gateways:
            await gateway.settle()
    accounts = [life.account() for gateway in stand.gateways for life in gateway.lives]
    ledger = Ledger(load.exchanges, accounts, bench.texts)
    results = [StepResult.of(step, span, load.exchanges) for step, span in spans]
    left_out = [step.name for step in options.steps if step.tritons > len(stand.nodes)]
    outcome = Outcome(load.exchanges, results, ledger.findings(), load_plan.rate, left_out)
    if not outcome.findings:
        shutil.rmtree(bench.workshop.folder)
    write(options, outcome)
    return outcome


async def ask_on(load: Load, requests: int, rate: float) -> None:
    """Wait until so many were answered.

    Raises:
        DrillError: that takes much longer than it should.
    """

    async def are_enough() -> bool:
        return len(load.exchanges) >= requests

    await wait_until(are_enough, requests / rate + SLACK_S, f"fewer than {requests} requests were answered")


async def make(step: Step, stand: Stand, say: Say) -> tuple[Step, Span]:
    """Make one step as often as it says, and when that was."""
    begin = time.monotonic()
    for number in range(1, step.times + 1):
        await step.act(stand)
        say(f"{step.name}: {number} of {step.times}")
    return step, Span(begin, time.monotonic())


def write(options: Options, outcome: Outcome) -> None:
    """The report for programs and for people, and the document's part."""
    report = markdown(outcome, circumstances(outcome))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "rollout.json").write_text(json_report(outcome), encoding="utf-8")
    (options.out / "report.md").write_text(report + "\n", encoding="utf-8")
    if options.document is not None:
        update_document(options.document, report, MARKERS)


def circumstances(outcome: Outcome) -> str:
    """Where, and with what."""
    return (
        f"Gateway {gateway_version()}, model set {MODEL_SET}, {outcome.rate:.0f} requests a second of one line each, "
        f"{describe_machine()}; load, nginx, gateways and Tritons share them."
    )
