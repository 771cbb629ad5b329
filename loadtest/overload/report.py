"""Results as JSON for programs and as Markdown for people. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from loadtest.overload.goals import Judgement, milliseconds
from loadtest.overload.phases import CALM, FACTORS, PAGES
from loadtest.overload.results import MEGABYTE, StandResult

CHART = "overload.svg"
HEAD = (
    "| | load | offered/s | pages in time/s | of the peak | p99 of pages | p99 of refusals | failed | unanswered "
    "| core | memory | grown by | client late, p99 |"
)


def json_report(results: Sequence[StandResult], judgements: Mapping[str, Sequence[Judgement]]) -> str:
    """Everything but the single requests."""
    goals = {stand: [asdict(judgement) for judgement in every] for stand, every in judgements.items()}
    return json.dumps({"stands": [asdict(result) for result in results], "goals": goals}, indent=2) + "\n"


def markdown(results: Sequence[StandResult], judgements: Mapping[str, Sequence[Judgement]], circumstances: str) -> str:
    """The report."""
    peaks = ", ".join(f"{result.peak:.0f} {result.name}" for result in results)
    parts = [
        circumstances,
        f"The peak, in pages a second: {peaks}.",
        " ".join(map(cost, results)),
        f"![goodput]({CHART})",
        "\n".join([HEAD, "|---|---|" + "--:|" * (HEAD.count("|") - 3), *phase_rows(results)]),
        "\n".join(goal_rows(judgements)),
    ]
    return "\n\n".join(parts)


def phase_rows(results: Sequence[StandResult]) -> Iterator[str]:
    """A row for each stream of each phase."""
    for result in results:
        for phase, measured in result.phases.items():
            most, growth = measured.memory[1] / MEGABYTE, measured.growth_bytes / MEGABYTE
            taken = f"{measured.busy:.0%} | {most:.0f} MB | {growth:.0f} MB"
            for one in measured.streams.values():
                load = phase if len(measured.streams) == 1 else f"{phase}: {one.name}"
                figures = (
                    f"{one.offered:.0f} | {one.goodput:.1f} | {one.goodput / result.peak:.0%} | "
                    f"{milliseconds(one.accepted_p99_s)} | {milliseconds(one.refused_p99_s)} | "
                    f"{failures(one.failed)} | {one.unanswered}"
                )
                yield f"| {result.name} | {load} | {figures} | {taken} | {milliseconds(one.late_p99_s)} |"


def cost(result: StandResult) -> str:
    """What the gateway spends on a page, and on a refusal; hardly depends on who else uses the machine."""
    page_s = result.page_cost_s(f"{CALM:g} x", PAGES)
    refusal_s = result.refusal_cost_s(f"{FACTORS[-1]:g} x", PAGES, page_s)
    refusal = "-" if refusal_s is None else f"{1000 * refusal_s:.1f} ms"
    return f"Processor time {result.name}: {1000 * page_s:.1f} ms a page, {refusal} a refusal."


def failures(by_code: Mapping[str, int]) -> str:
    """How many there are of each code."""
    return ", ".join(f"{count} {code}" for code, count in sorted(by_code.items())) or "0"


def goal_rows(judgements: Mapping[str, Sequence[Judgement]]) -> Iterator[str]:
    """A row for each goal of each stand."""
    yield "| goal | | promise | measured | |\n|---|---|---|---|---|"
    for stand, every in judgements.items():
        for one in every:
            yield f"| {one.goal} | {stand} | {one.promise} | {one.measured} | {'met' if one.met else '**missed**'} |"
