"""Results as JSON lines for programs and as Markdown for people."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tests.drills.course import Course, detected_s, first_of_steady, outage_s
from tests.drills.drill import Result
from tests.drills.fault import Fault
from tests.drills.ledger import Ending
from tests.drills.limits import Judgement

CHART = "drills.svg"
SHOWN_FINDINGS = 20


def json_line(result: Result) -> str:
    """One drill. Times are seconds since the load began; null for what did not happen."""
    course = result.course
    detected, steady = detected_s(course), first_of_steady(course)
    entry = {
        "fault": result.fault,
        "repeat": result.repeat,
        "t_inject": rounded(course.injected_at - course.started_at),
        "t_detect": None if detected is None else rounded(course.injected_at - course.started_at + detected),
        "t_heal": rounded(course.healed_at - course.started_at),
        "t_recover": None if steady is None else rounded(steady.ended_at - course.started_at),
        "sent": len(course.exchanges),
        "ok": course.outcomes["ok"],
        "failed": dict(failed_by_code(course)),
        "left": sum(one.ending is Ending.LEFT for one in course.exchanges),
        "unexplained": len(result.findings),
        "findings": [f"{finding.subject}: {finding.reason}" for finding in result.findings],
        "limits": [limit_entry(judgement) for judgement in result.judgements],
        "client_lag": rounded(result.lag_s),
    }
    return json.dumps(entry, ensure_ascii=False)


def limit_entry(judgement: Judgement) -> dict[str, object]:
    """A goal, what was measured, and whether it was met."""
    limit, value = judgement.limit, judgement.value
    return {
        "goal": limit.goal,
        "figure": limit.promise,
        "value": None if value is None else rounded(value),
        "at_most": limit.at_most,
        "met": judgement.met,
    }


def markdown(results: Sequence[Result], faults: Mapping[str, Fault], circumstances: str) -> str:
    """The whole report, from the sentence that says it all to the goals one by one."""
    parts = [circumstances, summary(results), f"![requests over time]({CHART})", fault_table(results, faults)]
    if findings := list(finding_lines(results)):
        parts.append("\n".join(["Unexplained:", "", *findings[:SHOWN_FINDINGS]]))
    return "\n\n".join([*parts, goal_table(results)])


def summary(results: Sequence[Result]) -> str:
    """The numbers that count."""
    requests = sum(len(result.course.exchanges) for result in results)
    unexplained = sum(len(result.findings) for result in results)
    judged = [judgement.met for result in results for judgement in result.judgements]
    lag_s = max((result.lag_s for result in results), default=0.0)
    return (
        f"**{unexplained} unexplained of {requests:,} requests** in {len(results)} drills of "
        f"{len({result.fault for result in results})} faults. Goals met: {sum(judged)} of {len(judged)}. "
        f"The client itself was late by up to {1000 * lag_s:.0f} ms."
    )


def fault_table(results: Sequence[Result], faults: Mapping[str, Fault]) -> str:
    """A row per fault: all repeats together, times the worst of them."""
    rows = [
        "| fault | what is done | drills | sent | pages | no page | unexplained | detected | outage |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|",
    ]
    for name, drills in by_fault(results):
        courses = [drill.course for drill in drills]
        outcomes = sum((course.outcomes for course in courses), Counter[str]())
        none = sum((failed_by_code(course) for course in courses), Counter[str]())
        left = sum(one.ending is Ending.LEFT for course in courses for one in course.exchanges)
        reasons = [f"{times} {code}" for code, times in none.most_common()] + ([f"{left} left"] if left else [])
        cells = [
            f"`{name}`",
            faults[name].title,
            len(drills),
            outcomes.total(),
            outcomes["ok"],
            ", ".join(reasons),
            sum(len(drill.findings) for drill in drills),
            worst_seconds([detected_s(course) for course in courses], absent=""),
            worst_seconds([outage_s(course) for course in courses], absent="not over"),
        ]
        rows.append(row(cells))
    return "\n".join(rows)


def goal_table(results: Sequence[Result]) -> str:
    """A row per fault and goal, with the worst of the repeats."""
    rows = ["| fault | goal | figure | at most | worst | met |", "|---|---|---|--:|--:|---|"]
    for name, drills in by_fault(results):
        for repeats in zip(*(drill.judgements for drill in drills), strict=True):
            limit = repeats[0].limit
            met = sum(judgement.met for judgement in repeats)
            values = [judgement.value for judgement in repeats]
            lacking = None in values and not limit.may_be_absent
            known = [value for value in values if value is not None]
            worst = "not seen" if lacking or not known else figure(max(known), limit.unit)
            verdict = "yes" if met == len(repeats) else f"**{met} of {len(repeats)}**"
            rows.append(
                row([f"`{name}`", limit.goal, limit.promise, figure(limit.at_most, limit.unit), worst, verdict])
            )
    return "\n".join(rows)


def finding_lines(results: Sequence[Result]) -> Iterator[str]:
    """A line for everything that nobody can explain."""
    for result in results:
        for finding in result.findings:
            yield f"* {result.fault} {result.repeat}: {finding.subject} {finding.reason}"


def failed_by_code(course: Course) -> Counter[str]:
    """How many requests failed with each code."""
    return Counter(exchange.outcome for exchange in course.failed)


def by_fault(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    """The repeats of each fault, in the order in which the faults were first drilled."""
    order = list(dict.fromkeys(result.fault for result in results))
    ordered = sorted(results, key=lambda result: order.index(result.fault))
    return ((name, list(drills)) for name, drills in groupby(ordered, key=lambda result: result.fault))


def typical(results: Sequence[Result]) -> dict[str, Course]:
    """For the picture, of each fault the repeat with the most failures."""
    return {name: max(drills, key=lambda drill: len(drill.course.failed)).course for name, drills in by_fault(results)}


def worst_seconds(values: Sequence[float | None], *, absent: str) -> str:
    """The longest of the times; `absent` if one of them did not come."""
    known = [value for value in values if value is not None]
    return absent if len(known) < len(values) or not known else figure(max(known), "s")


def figure(value: float, unit: str) -> str:
    """A number for people."""
    return f"{value:.2f} {unit}" if unit else f"{value:g}" if value == int(value) else f"{value:.3f}"


def row(cells: Sequence[object]) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def rounded(seconds: float) -> float:
    """To the millisecond."""
    return round(seconds, 3)
