"""Runs checks: chains side by side, the checks of a chain in turn, each within its time."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from gateway.doctor.findings import Finding, Severity, Verdict, error, unknown
from gateway.errors import OcrError
from gateway.inference.failures import foreign_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Check(Generic[T]):
    """One question, and who answers it.

    Attributes:
        name: for `--only`, and in documents.
        question: that it answers.
        run: looks, and gives what it saw; it may raise OcrError, which is a finding.
        do: what to do when it raises or hangs.
        decides: whether an error of it leaves nothing for the checks after it.
        timeout_s: after which it counts as hanging.
    """

    name: str
    question: str
    run: Callable[[T], Awaitable[Sequence[Verdict]]]
    do: str
    decides: bool = False
    timeout_s: float = 10.0


@dataclass(frozen=True, slots=True)
class Chain(Generic[T]):
    """One thing to look at, and the checks of it in their order.

    Attributes:
        subject: what it is called in findings.
        target: where it is.
        checks: first to last.
    """

    subject: str
    target: T
    checks: Sequence[Check[T]]

    async def examine(self, chosen: Collection[str]) -> list[Finding]:
        """What those of the checks say that were chosen; up to the error that decides."""
        findings: list[Finding] = []
        for check in self.checks:
            if check.name not in chosen:
                continue
            verdicts = await ask(check, self.target)
            findings += [
                Finding(self.subject, check.name, one.severity, one.what, one.do, one.evidence) for one in verdicts
            ]
            if check.decides and any(one.severity is not Severity.OK for one in verdicts):
                break
        return findings


async def examine_all(chains: Sequence[Chain[Any]], chosen: Collection[str]) -> list[Finding]:
    """The findings of all chains, in their order."""
    found = await asyncio.gather(*(chain.examine(chosen) for chain in chains))
    return [finding for findings in found for finding in findings]


async def ask(check: Check[T], target: T) -> Sequence[Verdict]:
    """What one check says; a hang, an error of ours and a bug are verdicts, too."""
    try:
        async with asyncio.timeout(check.timeout_s):
            return await check.run(target)
    except TimeoutError:
        return error(f"no answer within {check.timeout_s:g} s", check.do)
    except OcrError as failure:
        return error(failure.detail, check.do, foreign_text(failure))
    except httpx.HTTPError as failure:
        return error("no answer over HTTP", check.do, str(failure) or type(failure).__name__)
    except Exception as bug:
        return unknown("the check itself broke", "report it", f"{type(bug).__name__}: {bug}")
