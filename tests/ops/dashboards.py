"""`deploy/grafana`: the dashboards are those of their tables, and Prometheus understands every query."""

import json
import re
import runpy
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import CheckFailed, run

FOLDER = ROOT / "deploy" / "grafana"
BUILD = FOLDER / "build.py"


@dataclass(frozen=True)
class Query:
    """One query of a panel.

    Attributes:
        dashboard, panel: their titles.
        legend: of its series.
        expression: PromQL, with Grafana's variable for the range.
        needs_gpu: whether it has no data without a GPU.
        unit: of its values, as Grafana names it.
    """

    dashboard: str
    panel: str
    legend: str
    expression: str
    needs_gpu: bool
    unit: str = "none"

    def over(self, window: str) -> str:
        """The query as Prometheus takes it, over so long."""
        return self.expression.replace("$__rate_interval", window)


def queries() -> list[Query]:
    """All queries of all dashboards."""
    found = []
    for path in sorted((FOLDER / "dashboards").glob("*.json")):
        board = json.loads(path.read_text())
        found += [
            Query(
                board["title"], panel["title"], target["legendFormat"], target["expr"], _needs_gpu(panel), _unit(panel)
            )
            for panel in board["panels"]
            for target in panel["targets"]
        ]
    return found


def file_of(title: str) -> str:
    """The name of the file of a dashboard, without its ending."""
    boards = {json.loads(path.read_text())["title"]: path.stem for path in (FOLDER / "dashboards").glob("*.json")}
    return boards[title]


def built() -> str:
    """The files are what the tables make, and each panel has one place and at least one query."""
    made = runpy.run_path(str(BUILD))
    for name in made["DASHBOARDS"]:
        if (FOLDER / "dashboards" / f"{name}.json").read_text() != made["dashboard"](name):
            raise CheckFailed(f"{name}.json is not what its table makes; run python {BUILD.relative_to(ROOT)}")
    panels = sum(len(panels) for _, panels in made["DASHBOARDS"].values())
    return f"{len(made['DASHBOARDS'])} dashboards, {panels} panels"


def parsed() -> str:
    """Prometheus parses every query of a panel."""
    return f"{_parse([query.over('5m') for query in queries()])} queries"


def parsed_in_documents() -> str:
    """Prometheus parses every query that a document tells somebody to ask."""
    texts = [path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))]
    asked = [code for text in texts for code in re.findall(r"`([^`\n]+)`", text) if _QUERY.match(code)]
    return f"{_parse(asked)} queries"


_QUERY = re.compile(
    r"(?:(?:sum|count|rate|changes|increase|histogram_quantile)\b.*\(|(?:ocr|nv|up|process)\w*(?:\{| [=<>]))"
)
"""How a query of PromQL begins that is more than the name of a metric."""


def _parse(expressions: Sequence[str]) -> int:
    """Have them read as rules of a file made for the purpose; how many there are."""
    rules = [{"record": f"query:{number}", "expr": expression} for number, expression in enumerate(expressions)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "queries.yml")
        path.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))  # JSON is YAML
        run("promtool", ["check", "rules", "--lint=none", path])
    return len(rules)


def _needs_gpu(panel: dict) -> bool:
    return bool(re.match("Needs a GPU", panel["description"]))


def _unit(panel: dict) -> str:
    return panel["fieldConfig"]["defaults"]["unit"]
