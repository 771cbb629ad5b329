"""What a check says, and what is reported of it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says of what it looked at.

    Attributes:
        severity: how bad it is.
        what: in words.
        do: what to do about it; empty if nothing.
        evidence: what was seen, in foreign words or numbers.
    """

    severity: Severity
    what: str
    do: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, with where it was found.

    Attributes:
        subject: what was looked at, such as "triton 127.0.0.1:8001".
        check: name of the check.
        severity, what, do, evidence: as of `Verdict`.
    """

    subject: str
    check: str
    severity: Severity
    what: str
    do: str
    evidence: str


def fine(what: str) -> list[Verdict]:
    """All is well."""
    return [Verdict(Severity.OK, what)]


def warning(what: str, do: str, evidence: str = "") -> list[Verdict]:
    """It works, but not for long, or not safely."""
    return [Verdict(Severity.WARNING, what, do, evidence)]


def error(what: str, do: str, evidence: str = "") -> list[Verdict]:
    """It does not work."""
    return [Verdict(Severity.ERROR, what, do, evidence)]


def unknown(what: str, do: str, evidence: str = "") -> list[Verdict]:
    """It could not be looked at."""
    return [Verdict(Severity.UNKNOWN, what, do, evidence)]
