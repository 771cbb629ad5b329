"""Reading the results by what is asked of them: peaks, rates, targets. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadtest.gpu.results import Result

KINDS = ("receipts", "forms", "scene", "dense")
TARGET_MS = 200.0
OK = "200"

CONFIGURATIONS: Mapping[str, str] = {
    "small": "small",
    "twice": "small, two instances of every model",
    "half": "small, recognisers in half precision",
    "shared": "small, processes share the GPU",
    "shared-half": "small, sharing, all in half precision",
    "shared-two": "small, sharing, two instances of six detectors",
    "shared-apart": "small, sharing, two instances, biases apart",
    "best-small": "small, as advised: the same from a fresh build",
    "tiny": "tiny",
    "best-tiny": "tiny, as advised",
}
"""What was served, by the name in the results."""
BASE, SHARED, BEST, BEST_TINY = "small", "shared", "best-small", "best-tiny"

Point = Mapping[str, Any]


class MissingResultError(Exception):
    """This was not measured, or failed."""


@dataclass(frozen=True, slots=True)
class Measured:
    """All results by name."""

    results: Mapping[str, Result]

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """The data of a result.

        Raises:
            MissingResultError: there is none.
        """
        data = self.get(name)
        if data is None:
            raise MissingResultError(name)
        return data

    def get(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """The same, or None."""
        result = self.results.get(name)
        return result.data if result else None

    def peak(self, configuration: str, kind: str) -> Point | None:
        """The closed loop with pages of a kind."""
        sweep = self.get(f"{configuration} sweep {kind}")
        point: Point | None = sweep[0] if sweep else self.get(f"{configuration} peak {kind}")
        return point

    def alone(self, configuration: str, kind: str) -> float | None:
        """Pages a second of the models without the service."""
        data = self.get(f"{configuration} models alone {kind}")
        return max(point["images_per_s"] for point in data["points"]) if data else None

    def share(self, configuration: str, kind: str) -> float | None:
        """What the service reaches of that."""
        peak, alone = self.peak(configuration, kind), self.alone(configuration, kind)
        return peak["images_per_s"] / alone if peak and alone else None

    def rates(self, configuration: str, kind: str) -> list[Point]:
        """The open loops with pages of a kind, by ascending rate."""
        return list((self.get(f"{configuration} sweep {kind}") or [])[1:])

    def within_target(self, configuration: str, kind: str) -> float | None:
        """The highest rate of pages at which 95 % of them came within the target and none was lost; 0 if none was."""
        points = self.rates(configuration, kind)
        good = [one["images_per_s"] for one in points if one["p95_ms"] < TARGET_MS and lost(one) == 0]
        return max(good, default=0.0) if points else None

    def measured_with(self, pattern: str) -> Iterator[tuple[str, str]]:
        """(name in the results, what it is) of the configurations that have a result of this name."""
        for name, title in CONFIGURATIONS.items():
            if self.get(f"{name} {pattern}") is not None:
                yield name, title


def lost(point: Point) -> int:
    """Requests without their page."""
    return sum(int(count) for status, count in point["statuses"].items() if status != OK)


def cores(point: Point) -> float:
    """Processors in use by everything but the clients."""
    return float(sum(used for group, used in point["usage"]["cores"].items() if group != "clients"))


def calls_per_page(point: Point) -> float:
    """Recognition calls for each page, the pages sharing them."""
    return float(point["lines"]["recognition_calls"] / point["lines"]["pages"])
