"""Two looks at a page of metrics, a little apart: what is there, and what moves."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families

from gateway.doctor.findings import Verdict, error, fine, unknown
from gateway.doctor.targets import WebTarget

APART_S = 2.0
"""Time between the two looks."""

Labels = tuple[tuple[str, str], ...]
Samples = Mapping[tuple[str, Labels], float]


@dataclass(frozen=True, slots=True)
class Looks:
    """A page of metrics, seen twice.

    Attributes:
        before, after: its samples.
        seconds: that lay between.
    """

    before: Samples
    after: Samples
    seconds: float = APART_S

    def has(self, name: str) -> bool:
        """Whether there is any sample of this name."""
        return any(known == name for known, _ in self.after)

    def now(self, name: str, **labels: str) -> float:
        """Sum of the samples of this name with these labels; 0 if there are none."""
        return _total(self.after, name, labels)

    def earlier(self, name: str, **labels: str) -> float:
        """The same at the first look."""
        return _total(self.before, name, labels)

    def growth(self, name: str, **labels: str) -> float:
        """By how much it has grown."""
        return self.now(name, **labels) - self.earlier(name, **labels)

    def values(self, name: str, label: str) -> list[str]:
        """The values that a label has, sorted."""
        return sorted({dict(labels)[label] for known, labels in self.after if known == name and label in dict(labels)})


class MetricsPage:
    """A page of metrics; all checks share two looks at it."""

    def __init__(self, target: WebTarget, *, apart_s: float = APART_S) -> None:
        self._target = target
        self._apart_s = apart_s
        self._looks: Looks | None = None

    async def looks(self) -> Looks:
        """Both looks, taken when they are first asked for; errors as of `look`."""
        if self._looks is None:
            before = await look(self._target)
            await asyncio.sleep(self._apart_s)
            self._looks = Looks(before, await look(self._target), self._apart_s)
        return self._looks

    async def check(self) -> Sequence[Verdict]:
        """Whether there is such a page."""
        do = "say where the metrics are (--gateway-metrics, --triton-metrics); with OCR_OPS_PORT they are there"
        try:
            looks = await self.looks()
        except (httpx.HTTPError, ValueError) as failure:
            words = " ".join(str(failure).split()[:12]) or type(failure).__name__
            missing = unknown if self._target.guessed else error
            return missing(f"there are no metrics at {self._target.url}", do, words)
        return fine(f"{len(looks.after)} samples")


async def look(target: WebTarget) -> Samples:
    """The samples of a page.

    Raises:
        HTTPError: it can't be had.
        ValueError: it is no page of metrics.
    """
    async with target.client() as client:
        answer = await client.get(target.url)
    answer.raise_for_status()
    return parse(answer.text)


def parse(text: str) -> Samples:
    """The samples of a text. The parser gives counters of Triton, whose names lack it, the suffix `_total`."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _total(samples: Samples, name: str, labels: Mapping[str, str]) -> float:
    wanted = labels.items()
    return sum(value for (known, has), value in samples.items() if known == name and wanted <= dict(has).items())
