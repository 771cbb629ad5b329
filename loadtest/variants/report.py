"""The table with verdicts as Markdown. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.differences import Difference, compare
from loadtest.accuracy.readings import Readings
from loadtest.accuracy.report import signed, table
from loadtest.accuracy.scoring import FIGURES, Counts

GATE = 0.002
"""The most that a figure of the corpus may lose: 0.2 points."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A variant beside the baseline, on the same pages.

    Attributes:
        name: of the variant.
        differences: of each figure of accuracy; the baseline stands where the library does.
        speed: the baseline's processor time for all pages over the variant's.
        median_speed: the same for the median page.
        texts_changed: pages whose text is another, of all.
        failed: pages without an answer.
    """

    name: str
    differences: Mapping[str, Difference]
    speed: float
    median_speed: float
    texts_changed: int
    failed: int

    @property
    def passes(self) -> bool:
        """Whether it keeps the accuracy."""
        losses = [one.value for one in self.differences.values() if one.value is not None]
        return not self.failed and all(value >= -GATE for value in losses)

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.passes:
            return "**refused**"
        return "passes" if self.speed > 1 else "passes, but is slower"


def measured(name: str, baseline: Readings, variant: Readings, before: Counts, after: Counts) -> Measured:
    """The figures of one variant."""
    ratios = [baseline[file].seconds / reading.seconds for file, reading in variant.items()]
    return Measured(
        name,
        compare(before, after),
        sum(one.seconds for one in baseline.values()) / sum(one.seconds for one in variant.values()),
        median(ratios),
        sum(texts(baseline, file) != texts(variant, file) for file in variant),
        sum(reading.error is not None for reading in variant.values()),
    )


def texts(readings: Readings, file: str) -> list[str]:
    """What a page says, line by line."""
    return [line.text for line in readings[file].lines]


def report(found: Sequence[Measured], circumstances: Circumstances, pages: int) -> str:
    """The generated part of the document."""
    told = f"`{circumstances.command}`, {circumstances.date}, {circumstances.model_set}, {circumstances.versions_told}"
    header = ["variant", "less processor time, times", "median page", "pages with another text", *FIGURES, "verdict"]
    rows = [
        [
            one.name,
            f"{one.speed:.2f}",
            f"{one.median_speed:.2f}",
            f"{one.texts_changed} of {pages}",
            *(signed(difference.value) for difference in one.differences.values()),
            one.verdict,
        ]
        for one in found
    ]
    return f"{told}; {circumstances.machine}. {pages} pages, one at a time, in turn.\n\n{table(header, rows)}"
