"""Asking Prometheus: the panels' queries, and what alerts are doing."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx

from tests.ops.dashboards import Query

WINDOW = "30s"
"""What Grafana's variable for the range stands for."""


Course = Sequence[tuple[float, float]]
"""Values over time: seconds on the wall clock, and what was then."""

LATELY_S = 10.0
"""On a busy machine now and then a scrape does not come in time, and a panel has a gap."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel."""

    legend: str
    course: Course


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a query: its series' values, without those that are no number."""

    query: Query
    values: tuple[float, ...]

    @property
    def shown(self) -> str:
        """The values in a line."""
        return ", ".join(f"{value:.4g}" for value in self.values[:4]) + (", ..." if len(self.values) > 4 else "")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a panel's query draws: a line for each series."""

    query: Query
    series: tuple[Series, ...]

    def before(self, moment: float) -> Answer:
        """The latest values of its series shortly before a moment."""
        lately = ([value for at, value in one.course if moment - LATELY_S <= at <= moment] for one in self.series)
        return Answer(self.query, tuple(values[-1] for values in lately if values))


class Prometheus:
    """One Prometheus, by its address."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30.0, trust_env=False)

    def draw(self, query: Query, start: float, end: float) -> Drawn:
        """A panel's query over time, second by second."""
        found = self._range(query.over(WINDOW), start, end)
        return Drawn(query, tuple(Series(named(query.legend, one["metric"]), _course(one)) for one in found))

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        return {series["metric"]["alertname"] for series in self._instant('ALERTS{alertstate="firing"}')}

    def course(self, expression: str, start: float, end: float) -> Course:
        """An expression's first series over time, second by second."""
        series = self._range(expression, start, end)
        return _course(series[0]) if series else []

    def _range(self, expression: str, start: float, end: float) -> Sequence[dict]:
        answer = self._client.get(
            "/api/v1/query_range", params={"query": expression, "start": start, "end": end, "step": 1}
        )
        return answer.raise_for_status().json()["data"]["result"]

    def _instant(self, expression: str) -> Sequence[dict]:
        answer = self._client.get("/api/v1/query", params={"query": expression})
        return answer.raise_for_status().json()["data"]["result"]


def named(legend: str, labels: Mapping[str, str]) -> str:
    """A legend with the values of its labels, as Grafana shows it."""
    return re.sub(r"{{(\w+)}}", lambda label: labels.get(label[1], ""), legend)


def _course(series: Mapping[str, Sequence[tuple[float, str]]]) -> Course:
    points = ((at, float(value)) for at, value in series["values"])
    return [(at, value) for at, value in points if not math.isnan(value)]


def panels_without_data(answers: Sequence[Answer]) -> set[str]:
    """The panels none of whose queries has a value, those of a GPU apart."""
    all_panels = {(one.query.dashboard, one.query.panel) for one in answers if not one.query.needs_gpu}
    with_data = {(one.query.dashboard, one.query.panel) for one in answers if one.values}
    return {f"{dashboard} / {panel}" for dashboard, panel in all_panels - with_data}
