"""What was tried to bring receipts below the target. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from loadtest.accuracy.report import table
from loadtest.gpu.report.measured import TARGET_MS, Measured, Point, cores
from loadtest.gpu.report.throughput import WAITING, meets
from loadtest.gpu.tuning import ADVISED, MORE, TUNINGS, Setting

REPOSITORIES = {
    "tuned": "as advised",
    "tuned-lines": "two instances of three recognisers",
    "tuned-narrow": "and 64 narrow rows",
}
HEADER = [
    "models", "gateways", "threads each", "calls each", "P50 ms", "P95 ms", "detect", "recognize, reread", "gateway",
    "GPU busy", "cores"
]  # fmt: skip


RUNS = ("first ", "")
"""What names in the results begin with: everything was tried twice, ten minutes apart."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that was tried.

    Attributes:
        models: what was served.
        setting: of the gateways.
        points: the load of each run.
    """

    models: str
    setting: Setting
    points: Sequence[Point]

    def mean(self, take: Callable[[Point], float]) -> float:
        """Of all runs."""
        return fmean(map(take, self.points))

    def spread(self) -> float:
        """By how much P95 differs between runs, milliseconds."""
        p95 = [_p95(point) for point in self.points]
        return max(p95) - min(p95)


def trials(measured: Measured) -> Iterator[Trial]:
    """All that were made."""
    for repository, settings in TUNINGS.items():
        for setting in settings:
            points = [measured[f"{run}{repository}, {setting.name}"] for run in RUNS]
            yield Trial(REPOSITORIES[repository], setting, points)


def tuned(measured: Measured) -> str:
    """Latency of receipts at the target's rate, with the stages in which it changes."""
    rows = [
        [
            trial.models,
            *map(str, (trial.setting.gateways, trial.setting.threads, trial.setting.calls)),
            ", ".join(f"{point['p50_ms']:.0f}" for point in trial.points),
            ", ".join(
                f"{point['p95_ms']:.0f}" if meets(point) else f"**{point['p95_ms']:.0f}**" for point in trial.points
            ),
            *(f"{trial.mean(take):.0f}" for take in (_detect, _recognize, own_ms, _gpu_percent)),
            f"{trial.mean(cores):.1f}",
        ]
        for trial in trials(measured)
    ]
    return table(HEADER, rows)


def own_ms(point: Point) -> float:
    """What a page takes on the gateway's own processors, milliseconds."""
    return float(sum(taken for stage, taken in point["stages_ms"].items() if stage not in WAITING))


def _detect(point: Point) -> float:
    return float(point["stages_ms"]["detect"])


def _recognize(point: Point) -> float:
    return float(point["stages_ms"]["recognize"] + point["stages_ms"]["reread"])


def _gpu_percent(point: Point) -> float:
    return float(point["usage"]["gpu_percent"])


def _p95(point: Point) -> float:
    return float(point["p95_ms"])


def verdict(measured: Measured) -> str:
    """The best of them."""
    best = min(trials(measured), key=lambda trial: trial.mean(_p95))
    advised, more = (
        next(trial for trial in trials(measured) if trial.setting == setting and trial.models == REPOSITORIES["tuned"])
        for setting in (ADVISED, MORE)
    )
    outcome = "meets" if all(map(meets, best.points)) else "misses"
    return (
        f"The best of them ({best.models}, {told(best.setting)}) {outcome} {TARGET_MS:.0f} ms with "
        f"{best.mean(_p95):.0f} ms. What helps is more gateways: {told(MORE)} bring P95 from "
        f"{advised.mean(_p95):.0f} to {more.mean(_p95):.0f} ms with the same models, where two runs differ by "
        f"{advised.spread():.0f} and {more.spread():.0f}."
    )


def told(setting: Setting) -> str:
    """A setting in words."""
    return f"{setting.gateways} gateways with threads and calls of {setting.threads} and {setting.calls}"


def alone(measured: Measured) -> str:
    """What a receipt takes when nothing else is under way."""
    point: Point = measured["graphs edited receipts, 1 under way"]
    stages = point["stages_ms"]
    return (
        f"None of the settings tried meets it on this machine, and hardly any could: **with nothing else under way** "
        f"a receipt takes {point['p50_ms']:.0f} ms, and one in twenty {point['p95_ms']:.0f}. Of the mean, "
        f"{own_ms(point):.0f} ms are the gateway's own work (decode {stages['decode']:.0f}, prepare "
        f"{stages['prepare']:.0f}, regions {stages['regions']:.0f}, crops {stages['crops']:.0f}, ctc "
        f"{stages['ctc']:.0f}), {stages['detect']:.0f} the detection, {stages['recognize']:.0f} the recognition and "
        f"{stages['reread']:.0f} second readings, one after another."
    )
