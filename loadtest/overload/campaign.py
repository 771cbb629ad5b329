"""The whole overload from the first to the report: read this to see the order of things."""

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.settings import Settings
from loadtest.accuracy.circumstances import describe_machine, gateway_version
from loadtest.document import Markers, update_document
from loadtest.overload.chart import BIN_S, chart
from loadtest.overload.client import Client
from loadtest.overload.errors import OverloadError
from loadtest.overload.goals import Judgement, judge
from loadtest.overload.load import ask_in_turns, offer
from loadtest.overload.phases import JUMPS, SINGLE, Phase, Requests
from loadtest.overload.reply import Reply, goodput, recovered_s
from loadtest.overload.report import CHART, json_report, markdown
from loadtest.overload.results import JumpResult, PhaseResult, StandResult, StreamResult
from loadtest.overload.sampling import Sampler
from loadtest.overload.stand import CALL_S, DEADLINE_S, STANDS, Cores, Stand
from tests.drills.processes import read_log
from triton_models.server import LOOPBACK

MARKERS = Markers.of("overload")
CLIENTS = (4, 8, 16)
"""Of the closed loops that look for the peak; the best counts."""
PEAK_SHARE = 1 / 5
"""Of the length of a phase, each of them."""
WANTED_SHARE = 0.95
PAUSE_S = 1.5
"""Between phases, so that each begins with a quiet gateway."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    Attributes:
        stands: names, see `STANDS`.
        seconds: length of a phase.
        out: folder for results.
        document: Markdown file whose generated part is written anew; None for none.
    """

    stands: Sequence[str]
    seconds: float
    out: Path
    document: Path | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        results: by stand.
        judgements: by the stand's name.
    """

    results: Sequence[StandResult]
    judgements: Mapping[str, Sequence[Judgement]]

    @property
    def good(self) -> bool:
        """Whether every goal was met that is no matter of speed."""
        return all(one.met for every in self.judgements.values() for one in every if one.binding)


async def run(options: Options, say: Say) -> Outcome:
    """Flood each stand and write what came of it; on the main thread.

    Raises:
        OverloadError: it could not be made.
    """
    allow_many_connections()
    cores = Cores.of(sorted(os.sched_getaffinity(0)))
    folder = Path(tempfile.mkdtemp(prefix="overload-"))
    say(f"logs are in {folder}")
    results = []
    with staying_on(cores.others):
        for name in options.stands:
            async with STANDS[name](folder, cores) as stand:
                results.append(await flood(stand, options.seconds, say))
    pixels = Settings.model_fields["max_pixels_under_way"].default
    outcome = Outcome(results, {result.name: list(judge(result, DEADLINE_S, pixels)) for result in results})
    write(options, outcome)
    return outcome


def allow_many_connections() -> None:
    """Raise this process's limit on open files: a connection that it can't open looks like one that was refused."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def staying_on(cores: frozenset[int]) -> Iterator[None]:
    """Keep this process, and what it starts, on these cores for a while."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True, slots=True)
class Offering:
    """How a stand is asked.

    Attributes:
        client: of the stand.
        requests: that it sends.
        peak: pages per second that the stand can answer.
        seconds: length of a phase.
    """

    client: Client
    requests: Requests
    peak: float
    seconds: float

    def length(self, phase: Phase) -> float:
        """Of a phase, seconds."""
        return phase.share * self.seconds

    async def offer(self, phase: Phase) -> list[Reply]:
        """Go through a phase, and wait for every answer."""
        return await offer(self.client, self.requests.streams(phase, self.peak), self.length(phase))


async def flood(stand: Stand, seconds: float, say: Say) -> StandResult:
    """Find the peak of a stand, then go through all phases and jumps."""
    client = Client(LOOPBACK, stand.port)
    requests = Requests(client)
    peak = await find_peak(client, requests.page, PEAK_SHARE * seconds)
    say(f"{stand.name}: {peak:.0f} pages a second at most")
    offering = Offering(client, requests, peak, seconds)
    phases, jumps = {}, {}
    for phase in SINGLE:
        await asyncio.sleep(PAUSE_S)
        phases[phase.name] = await measure(stand, offering, phase)
        say(f"{stand.name}, {phase.name}: {in_short(phases[phase.name])}")
    for name in JUMPS:
        await asyncio.sleep(PAUSE_S)
        jumps[name] = await measure_jump(offering, JUMPS[name])
        say(f"{stand.name}, {name}: {recovery(jumps[name])}")
    return StandResult(stand.name, peak, phases, jumps, count_refusals(read_log(stand.log_file)))


async def find_peak(client: Client, request: bytes, seconds: float) -> float:
    """Pages per second in the best of the closed loops; what comes first only warms up.

    Raises:
        OverloadError: there were none.
    """
    await ask_in_turns(client, request, clients=CLIENTS[0], seconds=seconds)
    loops = [await ask_in_turns(client, request, clients=clients, seconds=seconds) for clients in CLIENTS]
    peak = max(pace(replies) for replies in loops)
    if not peak:
        raise OverloadError("no page came back in time, even without an overload")
    return peak


def pace(replies: Sequence[Reply]) -> float:
    """Pages in time per second, from the first request to the last answer."""
    begin, end = min(one.sent_at for one in replies), max(one.ended_at for one in replies)
    return sum(reply.good(DEADLINE_S) for reply in replies) / (end - begin)


async def measure(stand: Stand, offering: Offering, phase: Phase) -> PhaseResult:
    """Go through one phase."""
    async with Sampler(stand) as sampler:
        replies = await offering.offer(phase)
    length = offering.length(phase)
    streams = {part.name: StreamResult.of(part.name, replies, length, DEADLINE_S) for part in phase.parts}
    memory = (sampler.memory[0], max(sampler.memory))
    return PhaseResult(streams, memory, max(sampler.pixels, default=0), sampler.processor_s, sampler.seconds)


async def measure_jump(offering: Offering, jump: Sequence[Phase]) -> JumpResult:
    """Go through its phases without a pause; those who still wait for an answer don't hold up the next one."""
    begun_at, waiting = [time.monotonic()], []
    for phase in jump:
        waiting.append(asyncio.create_task(offering.offer(phase)))
        begun_at.append(begun_at[-1] + offering.length(phase))
        await asyncio.sleep(begun_at[-1] - time.monotonic())
    replies = [reply for offered in await asyncio.gather(*waiting) for reply in offered]
    return to_jump(replies, begun_at)


def count_refusals(log: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """How many requests a gateway's log calls overloaded: before any of the body was read, and later."""
    read = [line["body_bytes"] > 0 for line in log if line.get("code") == "overloaded"]
    return len(read) - sum(read), sum(read)


def to_jump(replies: Sequence[Reply], begun_at: Sequence[float]) -> JumpResult:
    """The figures of a jump whose phases began, and ended, at these times."""
    begin, flood_at, dropped_at, end = begun_at
    settled_at = begin + (flood_at - begin) / 3
    calm = goodput(replies, settled_at, flood_at, DEADLINE_S)
    bins = [begin + BIN_S * number for number in range(int((end - begin) / BIN_S))]
    return JumpResult(
        calm=calm,
        recovered_s=recovered_s(replies, dropped_at, WANTED_SHARE * calm, DEADLINE_S),
        goodput=tuple(goodput(replies, start, start + BIN_S, DEADLINE_S) for start in bins),
        flood=(flood_at - begin, dropped_at - begin),
    )


def in_short(result: PhaseResult) -> str:
    """A line for whoever waits."""
    told = (
        f"{one.goodput:.0f} of {one.offered:.0f} {one.name} a second in time"
        + (f", {one.unanswered} unanswered" if one.unanswered else "")
        for one in result.streams.values()
    )
    return f"{'; '.join(told)}; the gateway took {result.busy:.0%} of a core"


def recovery(jump: JumpResult) -> str:
    """The same for a jump."""
    return "not recovered" if jump.recovered_s is None else f"recovered after {jump.recovered_s:.1f} s"


def write(options: Options, outcome: Outcome) -> None:
    """The report and the picture, and the document's part of both."""
    report = markdown(outcome.results, outcome.judgements, circumstances(options.seconds))
    picture = chart(outcome.results)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "overload.json").write_text(json_report(outcome.results, outcome.judgements), encoding="utf-8")
    (options.out / "report.md").write_text(report + "\n", encoding="utf-8")
    (options.out / CHART).write_text(picture, encoding="utf-8")
    if options.document is not None:
        update_document(options.document, report, MARKERS)
        options.document.with_name(CHART).write_text(picture, encoding="utf-8")


def circumstances(seconds: float) -> str:
    """Where, and with what."""
    return (
        f"Gateway {gateway_version()}, models that take {1000 * CALL_S:.0f} ms, deadline {DEADLINE_S:g} s, "
        f"{seconds:g} s a phase, {describe_machine()}; the gateway has one core, client and nginx share the rest."
    )
