"""What is printed: lines for people, or JSON for programs; and the exit code."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from gateway.doctor.findings import Finding, Severity

HEALTHY, WARNINGS, ERRORS, NOT_SEEN = 0, 1, 2, 3
"""Exit codes: the worst that was found, or that something could not be looked at and nothing else was found."""

COLOURS: Mapping[Severity, str] = {
    Severity.OK: "32",
    Severity.WARNING: "33",
    Severity.ERROR: "31",
    Severity.UNKNOWN: "36",
}
"""Of a terminal (ECMA-48)."""


def exit_code(findings: Sequence[Finding]) -> int:
    """What a program may go by; nothing looked at is nothing known."""
    severities = {finding.severity for finding in findings}
    if Severity.ERROR in severities:
        return ERRORS
    if Severity.WARNING in severities:
        return WARNINGS
    return NOT_SEEN if Severity.UNKNOWN in severities or not findings else HEALTHY


def for_people(findings: Sequence[Finding], *, everything: bool, colour: bool) -> list[str]:
    """Lines: each thing that was looked at, and below it what is wrong; all that was looked at if asked for."""
    shown = [finding for finding in findings if everything or finding.severity is not Severity.OK]
    lines: list[str] = []
    for subject, group in groupby(shown, key=lambda finding: finding.subject):
        lines.append(subject)
        for finding in group:
            lines += _lines(finding, colour=colour)
    return lines


def _lines(finding: Finding, *, colour: bool) -> list[str]:
    severity = f"{finding.severity:<8}"
    if colour:
        severity = f"\x1b[{COLOURS[finding.severity]}m{severity}\x1b[0m"
    lines = [f"  {severity} {finding.check:<22} {finding.what}"]
    for name, text in (("do", finding.do), ("seen", finding.evidence)):
        if text:
            lines.append(f"  {'':<8} {name:>22}: {' '.join(text.split())}")
    return lines


def summary(findings: Sequence[Finding]) -> str:
    """One line."""
    counts = Counter(finding.severity for finding in findings)
    told = ", ".join(f"{counts[severity]} {severity}" for severity in Severity if counts[severity])
    return f"{len(findings)} findings: {told}" if findings else "nothing was looked at"


def for_programs(findings: Sequence[Finding]) -> str:
    """One JSON document."""
    return json.dumps({"exit_code": exit_code(findings), "findings": [asdict(one) for one in findings]}, indent=2)
