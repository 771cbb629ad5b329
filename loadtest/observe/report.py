"""What was seen, in Markdown. Pure, but for the gateway's log."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from loadtest.observe.asking import Answer
from loadtest.observe.incident import PAGE, Record
from loadtest.observe.scaled import SCALE
from tests.drills.processes import read_log

MOST_LINES = 12
SEVERE = ("WARNING", "ERROR", "CRITICAL")
REQUESTS = "gateway.requests"


def report(record: Record) -> str:
    """Everything."""
    return "\n".join([*_course(record), "", *_log(record), "", *_panels(record)])


def _course(record: Record) -> Iterator[str]:
    yield f"Every window is {SCALE} times as short as deployed: the page's hour is 3 minutes, its 5 minutes are 15 s."
    yield ""
    yield "| seconds | what |"
    yield "|---|---|"
    yield "| 0 | load begins |"
    yield f"| {_since(record, record.hung_at)} | Triton is stopped (SIGSTOP) |"
    if record.paged_after_s is not None:
        yield (
            f"| {_since(record, record.hung_at + record.paged_after_s)} | the pager's receiver is told of `{PAGE}`, "
            f"{record.paged_after_s:.0f} s after the stop |"
        )
    yield f"| {_since(record, record.went_on_at)} | Triton goes on (SIGCONT) |"
    if record.resolved_after_s is not None:
        yield (
            f"| {_since(record, record.went_on_at + record.resolved_after_s)} | the receiver is told that it is "
            f"resolved, {record.resolved_after_s:.0f} s after that |"
        )
    yield ""
    yield f"The first message, as its receiver got it: *{record.told}*"
    yield ""
    yield f"Firing during the hang: {', '.join(f'`{alert}`' for alert in sorted(record.firing))}."
    yield f"Answers: {', '.join(f'{count} times {status}' for status, count in sorted(record.answered.items()))}."


def _log(record: Record) -> Iterator[str]:
    entries = [entry for entry in read_log(record.log_file) if _moment(entry) > record.hung_at]
    requests = [entry for entry in entries if entry.get("logger") == REQUESTS]
    severe = [entry for entry in entries if entry["level"] in SEVERE and entry.get("logger") != REQUESTS]
    yield "Log lines of the incident (level warning and above, and how it ended):"
    yield ""
    ends = [entry for entry in entries if "in rotation" in entry["message"] or entry["message"].startswith("ready")]
    chosen = [entry for entry in entries if entry in severe or entry in ends][:MOST_LINES]
    yield from (f"    {_line(entry)}" for entry in chosen)
    yield ""
    yield "One line for each request from the stop on, by severity, status and code:"
    yield ""
    kinds = Counter((entry["level"], entry["status"], entry["code"] or "-") for entry in requests)
    yield from (f"    {count:6} {' '.join(map(str, kind))}" for kind, count in sorted(kinds.items()))
    failed = next((entry for entry in requests if entry["status"] >= 500 and entry["route"] == "/v1/ocr"), None)
    if failed:
        yield ""
        yield "The first that failed:"
        yield ""
        yield f"    {json.dumps(failed)}"


def _panels(record: Record) -> Iterator[str]:
    yield "Panels before the incident:"
    yield ""
    yield "| dashboard | panel | series | present values |"
    yield "|---|---|---|---|"
    for answer in record.calm:
        yield f"| {answer.query.dashboard} | {answer.query.panel} | {answer.query.legend} | {_shown(answer)} |"


def _shown(answer: Answer) -> str:
    if answer.values:
        return answer.shown
    return "needs a GPU" if answer.query.needs_gpu else "none"


def _line(entry: Mapping[str, object]) -> str:
    return f"{str(entry['time'])[11:23]} {entry['level']} {entry['message']}"


def _moment(entry: Mapping[str, str]) -> float:
    return datetime.fromisoformat(entry["time"]).timestamp()


def _since(record: Record, moment: float) -> str:
    return f"{moment - record.began_at:.0f}"
