"""All drills from the first to the report: read this to see the order of things."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadtest.accuracy.circumstances import describe_machine, gateway_version
from loadtest.document import Markers, update_document
from tests.deployed_nginx import nginx_is_missing
from tests.drills.drill import Result, make
from tests.drills.driver import LoadPlan, read_texts, seconds_per_request
from tests.drills.errors import DrillError
from tests.drills.fault import Fault
from tests.drills.pages import Pages, render_pages
from tests.drills.report import CHART, json_line, markdown, typical
from tests.drills.repositories import MODEL_SET
from tests.drills.stand import DEADLINE_S, StandPlan, Workshop, built
from tests.drills.timeline import chart

MARKERS = Markers.of("drills")
BUSY = 0.6
"""So much of the time the service may be at work without a fault: on a slow machine it is asked less often."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    Attributes:
        faults: to be drilled, by name.
        repeats: of each fault; None for as many as the table says.
        home: folder of the installed Triton and the models.
        out: folder for results.
        document: Markdown file whose generated part is written anew; None for none.
    """

    faults: Mapping[str, Fault]
    repeats: int | None
    home: Path
    out: Path
    document: Path | None


@dataclass(slots=True)
class Outcome:
    """What came of all drills.

    Attributes:
        results: of those that were made.
        not_made: why others were not, a line each.
        rate: at which most were asked, requests per second.
    """

    results: list[Result] = field(default_factory=list)
    not_made: list[str] = field(default_factory=list)
    rate: float = 0.0

    @property
    def good(self) -> bool:
        """Whether everything is explained, and every goal met that is no matter of speed."""
        unmet = (judgement for result in self.results for judgement in result.judgements if not judgement.met)
        unexplained = any(result.findings for result in self.results)
        return not (unexplained or self.not_made or any(judgement.limit.binding for judgement in unmet))


@dataclass(frozen=True, slots=True)
class Bench:
    """What all drills need; made once.

    Attributes:
        workshop: see there.
        pages: what is sent.
        texts: of each page without a fault, by name.
        share: of the table's rates that this machine can take.
    """

    workshop: Workshop
    pages: Pages
    texts: Mapping[str, str]
    share: float = 1.0

    async def drill(self, name: str, fault: Fault, repeat: int) -> Result:
        """Make one drill, and throw its files away if nothing in it is doubtful."""
        bearable = replace(fault, load=replace(fault.load, rate=fault.load.rate * self.share))
        result = await make(name, bearable, repeat, self.workshop, pages=self.pages, texts=self.texts)
        if not result.findings:
            shutil.rmtree(self.workshop.folder / f"{name}-{repeat}")
        return result


async def open_bench(home: Path, say: Say) -> Bench:
    """Install and build what is missing, and read every page once; on the main thread."""
    folder = Path(tempfile.mkdtemp(prefix="drills-"))
    say(f"logs of doubtful drills stay in {folder}")
    workshop = Workshop.open(home, folder, say)
    pages = render_pages()
    distinct = {page.name: page for kind in pages.values() for page in kind}.values()
    async with built(StandPlan(), workshop, "reference") as stand:
        texts = await read_texts(stand.url, distinct)
        share = min(1.0, BUSY / (await seconds_per_request(stand.url, pages) * LoadPlan().rate))
    say(f"asking {share * LoadPlan().rate:.0f} times a second")
    return Bench(workshop, pages, texts, share)


async def run(options: Options, say: Say) -> Outcome:
    """Make all drills and write what came of them."""
    bench = await open_bench(options.home, say)
    options.out.mkdir(parents=True, exist_ok=True)
    outcome = Outcome(rate=bench.share * LoadPlan().rate)
    with (options.out / "drills.jsonl").open("w", encoding="utf-8") as lines:
        for name, fault, repeat in planned(options, say):
            try:
                result = await bench.drill(name, fault, repeat)
            except DrillError as error:
                outcome.not_made.append(f"{name} {repeat}: {error}")
                say(outcome.not_made[-1])
                continue
            outcome.results.append(result)
            print(json_line(result), file=lines, flush=True)
            say(in_short(result))
    write(options, outcome)
    return outcome


def lacking(plan: StandPlan) -> str | None:
    """Why a stand like this can't be built here; None if it can."""
    return nginx_is_missing() or None if plan.nginx else None


def planned(
    options: Options, say: Say, *, lacking: Callable[[StandPlan], str | None] = lacking
) -> Iterator[tuple[str, Fault, int]]:
    """Every drill that this machine can make: all faults once, then all again."""
    reasons = {name: lacking(fault.plan) for name, fault in options.faults.items()}
    for name, reason in reasons.items():
        if reason:
            say(f"{name}: skipped, {reason}")
    possible = {name: fault for name, fault in options.faults.items() if not reasons[name]}
    repeats = {name: options.repeats or fault.repeats for name, fault in possible.items()}
    for repeat in range(1, max(repeats.values(), default=0) + 1):
        for name, fault in possible.items():
            if repeat <= repeats[name]:
                yield name, fault, repeat


def in_short(result: Result) -> str:
    """A line for whoever waits."""
    course = result.course
    told = f"{len(course.exchanges)} sent, {len(course.failed)} without a page, {len(result.findings)} unexplained"
    unmet = " ".join(judgement.limit.goal for judgement in result.judgements if not judgement.met)
    return f"{result.fault} {result.repeat}: {told}" + (f"; goals missed: {unmet}" if unmet else "")


def write(options: Options, outcome: Outcome) -> None:
    """The report and the picture, and the document's part of both."""
    report = markdown(outcome.results, options.faults, circumstances(outcome.rate, outcome.not_made))
    picture = chart(typical(outcome.results))
    (options.out / "report.md").write_text(report + "\n", encoding="utf-8")
    (options.out / CHART).write_text(picture, encoding="utf-8")
    if options.document is not None:
        update_document(options.document, report, MARKERS)
        options.document.with_name(CHART).write_text(picture, encoding="utf-8")


def circumstances(rate: float, not_made: Sequence[str]) -> str:
    """Where and when, and what is missing."""
    where = (
        f"Gateway {gateway_version()}, model set {MODEL_SET}, deadline of every request {DEADLINE_S:g} s, "
        f"{rate:.0f} requests a second, {describe_machine()}; load, gateways, Tritons and nginx share them."
    )
    return "\n".join([where, *(f"\n* not made: {line}" for line in not_made)])
