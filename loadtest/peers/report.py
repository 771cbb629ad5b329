"""The figures and the goals as Markdown. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.differences import compare
from loadtest.accuracy.report import spread, table
from loadtest.accuracy.scoring import Counts, Row, total
from loadtest.gpu.plot import Axes, Line, plot
from loadtest.peers.contestants import API, GATEWAY
from loadtest.peers.measure import MIB, Turn

ACCURACY = ("page_score", "char_recall", "char_precision", "word_accuracy")
GOAL_CLIENTS = 8
SPEED_GOAL, P95_GOAL, VARIANT_GOAL = 1.3, 0.7, 2.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What one contestant did with one number of clients.

    Attributes:
        images_per_s: of each round.
        latencies_s: of all pages in all rounds, ascending.
        peak_mib: at most.
        failed: pages without an answer.
        counts: behind the accuracy of the last round's readings, page by page.
    """

    images_per_s: Sequence[float]
    latencies_s: Sequence[float]
    peak_mib: float
    failed: int
    counts: Counts

    @property
    def scores(self) -> Row:
        """How well all pages were read together."""
        return total(self.counts)

    def quantile_s(self, share: float) -> float:
        """The latency that this share of the pages stays within."""
        return float(np.quantile(self.latencies_s, share))


Results = Mapping[int, Mapping[str, Figures]]
"""By number of clients and contestant."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One goal and whether it is met.

    Attributes:
        goal: in words.
        value: what was measured.
        met: whether it is.
    """

    goal: str
    value: str
    met: bool


def figures_of(turns: Sequence[Turn], counts: Counts) -> Figures:
    """The figures of some turns."""
    readings = [reading for turn in turns for reading in turn.readings.values()]
    return Figures(
        [turn.images_per_s for turn in turns],
        sorted(reading.seconds for reading in readings),
        max(turn.peak_bytes for turn in turns) / MIB,
        sum(reading.error is not None for reading in readings),
        counts,
    )


def report(results: Results, circumstances: Circumstances, pages: int) -> str:
    """The generated part of the document."""
    rounds = max(len(one.images_per_s) for by_name in results.values() for one in by_name.values())
    told = f"`{circumstances.command}`, {circumstances.date}, {circumstances.model_set}, {circumstances.versions_told}"
    head = f"{told}; {circumstances.machine}. {pages} pages, {rounds} rounds."
    return "\n\n".join([head, figures_table(results), goals_table(verdicts(results))])


def figures_table(results: Results) -> str:
    """A row for each contestant and number of clients."""
    header = ["clients", "", "images/s", "p50, s", "p95, s", "peak MiB", "failed", *ACCURACY]
    rows = [
        [
            str(clients),
            name,
            spread(one.images_per_s),
            f"{one.quantile_s(0.5):.2f}",
            f"{one.quantile_s(0.95):.2f}",
            f"{one.peak_mib:.0f}",
            str(one.failed),
            *("" if one.scores[figure] is None else f"{one.scores[figure]:.4f}" for figure in ACCURACY),
        ]
        for clients, by_name in results.items()
        for name, one in by_name.items()
    ]
    return table(header, rows)


def verdicts(results: Results) -> list[Verdict]:
    """The goals, for every gateway beside the API server; none where they were not measured."""
    by_name = results.get(GOAL_CLIENTS, {})
    return [
        verdict
        for name, one in by_name.items()
        if name.startswith(GATEWAY) and API in by_name
        for verdict in verdicts_on(name, one, by_name[API])
    ]


def verdicts_on(name: str, own: Figures, other: Figures) -> list[Verdict]:
    """Faster, sooner, and not worse."""
    goal = SPEED_GOAL if name == GATEWAY else VARIANT_GOAL
    faster = median(own.images_per_s) / median(other.images_per_s)
    sooner = own.quantile_s(0.95) / other.quantile_s(0.95)
    told = f"{name} over {API}, {GOAL_CLIENTS} clients"
    return [
        Verdict(f"{told}: images/s >= {goal:g} times", f"{faster:.2f}", faster >= goal),
        Verdict(f"{told}: p95 <= {P95_GOAL:g} times", f"{sooner:.2f}", sooner <= P95_GOAL),
        accuracy_verdict(told, own, other),
    ]


def accuracy_verdict(told: str, own: Figures, other: Figures) -> Verdict:
    """No figure may be lower for certain: with a 95 % interval, by the bootstrap over pages, that leaves out 0."""
    found = {figure: one for figure, one in compare(other.counts, own.counts).items() if figure in ACCURACY}
    changes = [
        f"{figure} {one.value:+.4f} ({one.low:+.4f} to {one.high:+.4f})" for figure, one in found.items() if one.value
    ]
    lower = any(one.high < 0 for one in found.values())
    return Verdict(f"{told}: no figure of accuracy lower for certain", ", ".join(changes) or "equal", not lower)


def goals_table(found: Sequence[Verdict]) -> str:
    """Each goal and whether it is met."""
    if not found:
        return f"Goals are judged at {GOAL_CLIENTS} clients, which were not measured."
    return table(["goal", "measured", ""], [[one.goal, one.value, "met" if one.met else "**missed**"] for one in found])


def chart(results: Results) -> str:
    """At the most clients: the share of pages answered within so many seconds."""
    by_name = results[max(results)]
    lines = [
        Line(
            name, [(0.0, 0.0), *((x, (number + 1) / len(one.latencies_s)) for number, x in enumerate(one.latencies_s))]
        )
        for name, one in by_name.items()
    ]
    return plot(lines, Axes("seconds", f"share of pages answered within, {max(results)} clients", y_limit=1.0))
