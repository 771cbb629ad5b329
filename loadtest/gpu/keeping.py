"""Results made small enough for the tree: what the report does not read is left out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from loadtest.gpu.results import Result

MOST_EXAMPLES = 12
MOST_TEXTS = 6
BUSIEST_MODELS = 6
NO_RESULTS = ("plan ",)
"""How names begin that say how a call went, not what was measured."""


def kept(results: Iterable[Result]) -> list[Result]:
    """The results that stay, condensed."""
    return [
        replace(result, data=condensed(result.data)) for result in results if not result.name.startswith(NO_RESULTS)
    ]


def condensed(data: Any) -> Any:  # noqa: ANN401 - JSON
    """The same data with short lists of examples, and with the busiest models of a series' first load only."""
    if isinstance(data, list):
        return [_load(point, first=not index) for index, point in enumerate(data)]
    if isinstance(data, Mapping):
        return {key: condensed(value) if key == "equality" else value for key, value in _load(data, first=True).items()}
    return data


def _load(point: Any, *, first: bool) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(point, Mapping):
        return point
    changes: dict[str, Any] = {}
    if "models" in point:
        changes["models"] = busiest(point["models"]) if first else {}
    if "differing" in point:
        changes["differing"] = [
            page | {side: page[side][:MOST_TEXTS] for side in ("cpu", "gpu")}
            for page in point["differing"][:MOST_EXAMPLES]
        ]
    return {**point, **changes}


def busiest(models: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """The models that computed longest."""
    ranked = sorted(models.items(), key=lambda item: item[1]["calls"] * item[1]["compute_ms"], reverse=True)
    return dict(ranked[:BUSIEST_MODELS])
