"""What came of the rollouts, as JSON for programs and as Markdown for people. Pure."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from loadtest.rollout.steps import Step
from tests.drills.ledger import Exchange, Finding, Span

SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class StepResult:
    """What clients saw of one step.

    Attributes:
        name, goal, times: of the step.
        seconds: that each time took on average.
        requests: that were under way meanwhile.
        failed: of these.
        slowest_s: the longest that one of them took.
    """

    name: str
    goal: str
    times: int
    seconds: float
    requests: int
    failed: int
    slowest_s: float

    @classmethod
    def of(cls, step: Step, span: Span, exchanges: Sequence[Exchange]) -> Self:
        """The figures of a step that was made at this time."""
        met = [exchange for exchange in exchanges if span.met(exchange)]
        slowest_s = max((one.ended_at - one.sent_at for one in met), default=0.0)
        seconds = (span.end - span.begin) / step.times
        return cls(step.name, step.goal, step.times, seconds, len(met), sum(one.failed for one in met), slowest_s)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of all of them.

    Attributes:
        exchanges: every request, in the order of their ends.
        steps: see there.
        findings: what the ledger can't explain; nothing excuses a failure here.
        rate: of the load, requests per second.
        left_out: names of steps that this gateway or machine can't make.
    """

    exchanges: Sequence[Exchange]
    steps: Sequence[StepResult]
    findings: Sequence[Finding]
    rate: float
    left_out: Sequence[str] = ()

    @property
    def failed(self) -> int:
        """Requests without a page."""
        return sum(exchange.failed for exchange in self.exchanges)

    @property
    def good(self) -> bool:
        """Whether every request got its page, once, and all accounts agree."""
        return not (self.failed or self.findings or self.left_out)


def json_report(outcome: Outcome) -> str:
    """Everything but the single requests."""
    entry = {
        "requests": len(outcome.exchanges),
        "failed": outcome.failed,
        "left_out": list(outcome.left_out),
        "outcomes": dict(Counter(exchange.outcome for exchange in outcome.exchanges)),
        "steps": [asdict(step) for step in outcome.steps],
        "findings": [asdict(finding) for finding in outcome.findings],
    }
    return json.dumps(entry, indent=2) + "\n"


def markdown(outcome: Outcome, circumstances: str) -> str:
    """The report."""
    verdict = (
        f"**{outcome.failed} of {len(outcome.exchanges):,} requests failed; the ledger has "
        f"{len(outcome.findings)} that are unexplained.**"
    )
    parts = [circumstances, verdict, table(outcome.steps)]
    if outcome.left_out:
        parts.append("Not made: " + "; ".join(outcome.left_out) + ".")
    if outcome.findings:
        parts.append("\n".join(finding_lines(outcome.findings)))
    return "\n\n".join(parts)


def table(steps: Sequence[StepResult]) -> str:
    """A row a step."""
    head = "| goal | what was done | times | s each | requests meanwhile | failed | slowest, s |"
    rows = [
        f"| {one.goal} | {one.name} | {one.times} | {one.seconds:.1f} | {one.requests:,} | {one.failed} | "
        f"{one.slowest_s:.2f} |"
        for one in steps
    ]
    return "\n".join([head, "|---|---|--:|--:|--:|--:|--:|", *rows])


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """The first of them."""
    shown = [f"* {finding.subject} {finding.reason}" for finding in findings[:SHOWN_FINDINGS]]
    more = len(findings) - SHOWN_FINDINGS
    return shown + ([f"* and {more} more"] if more > 0 else [])
