"""Asking Prometheus: the panels' queries, and what alerts are doing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from tests.ops.dashboards import Query

WINDOW = "30s"
"""What Grafana's variable for the range stands for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a query: its series' values, without those that are no number."""

    query: Query
    values: tuple[float, ...]

    @property
    def shown(self) -> str:
        """The values in a line."""
        return ", ".join(f"{value:.4g}" for value in self.values[:4]) + (", ..." if len(self.values) > 4 else "")


class Prometheus:
    """One Prometheus, by its address."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=30.0, trust_env=False)

    def ask(self, query: Query) -> Answer:
        """The present values of a panel's query."""
        values = (float(series["value"][1]) for series in self._instant(query.over(WINDOW)))
        return Answer(query, tuple(value for value in values if not math.isnan(value)))

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        return {series["metric"]["alertname"] for series in self._instant('ALERTS{alertstate="firing"}')}

    def course(self, expression: str, start: float, end: float) -> list[tuple[float, float]]:
        """An expression's first series over time, second by second."""
        answer = self._client.get(
            "/api/v1/query_range", params={"query": expression, "start": start, "end": end, "step": 1}
        )
        series = answer.raise_for_status().json()["data"]["result"]
        points = series[0]["values"] if series else []
        return [(at, float(value)) for at, value in points if value != "NaN"]

    def _instant(self, expression: str) -> Sequence[dict]:
        answer = self._client.get("/api/v1/query", params={"query": expression})
        return answer.raise_for_status().json()["data"]["result"]


def panels_without_data(answers: Sequence[Answer]) -> set[str]:
    """The panels none of whose queries has a value, those of a GPU apart."""
    all_panels = {(one.query.dashboard, one.query.panel) for one in answers if not one.query.needs_gpu}
    with_data = {(one.query.dashboard, one.query.panel) for one in answers if one.values}
    return {f"{dashboard} / {panel}" for dashboard, panel in all_panels - with_data}
