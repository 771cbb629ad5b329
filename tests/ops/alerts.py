"""`deploy/prometheus` and `deploy/alertmanager`, read and tried by their own programs."""

import re
import tempfile
from pathlib import Path

from prometheus_client import disable_created_metrics, generate_latest

from gateway.metrics import REQUESTS
from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import CheckFailed, run

FOLDER = ROOT / "deploy" / "prometheus"
CONFIGURATIONS = sorted(FOLDER.glob("prometheus*.yml"))
RULES = sorted((FOLDER / "rules").glob("*.yml"))
CASES = sorted((FOLDER / "tests").glob("*.yml"))
RUNBOOK = ROOT / "docs" / "runbook.md"
_POD_DISCOVERY = re.compile(r"    kubernetes_sd_configs:\n(?:      .*\n)+")
"""Debian's promtool is built without it."""

ROUTES = {"severity=page": "pager", "severity=ticket": "tickets", "alertname=OcrWatchdog": "watchdog"}
"""Who is told, by a label of the alert."""

LEAST_CASES = 2
"""For each alert: one in which it fires, one in which it does not."""


def config() -> str:
    """Prometheus reads its configurations and every rule, with their templates."""
    with tempfile.TemporaryDirectory() as folder:
        for path in CONFIGURATIONS:
            copy = Path(folder, path.name)
            copy.write_text(_POD_DISCOVERY.sub("", path.read_text()).replace("rules/*.yml", f"{FOLDER}/rules/*.yml"))
            run("promtool", ["check", "config", "--syntax-only", copy])
    run("promtool", ["check", "rules", *RULES])
    return f"{len(RULES)} files of rules, {len(names('record'))} rules that record, {len(names('alert'))} alerts"


def cases() -> str:
    """Every alert fires where it must, and is silent where it must be."""
    for path in CASES:
        run("promtool", ["test", "rules", path])
    return f"{sum(len(cases_of(alert)) for alert in names('alert'))} cases"


def exposition() -> str:
    """Prometheus finds no fault with the names, types and texts of the gateway's own metrics."""
    assert REQUESTS, "the import has made all of them"
    disable_created_metrics()
    page = generate_latest().decode()
    run("promtool", ["check", "metrics"], given=page)
    return f"{page.count('# TYPE ocr_')} metrics"


def alertmanager() -> str:
    """Alertmanager reads its configuration, and tells the right one of each severity."""
    file = ROOT / "deploy" / "alertmanager" / "alertmanager.yml"
    run("amtool", ["check-config", file])
    for label, receiver in ROUTES.items():
        said = run("amtool", ["config", "routes", "test", f"--config.file={file}", label]).splitlines()[0]
        if said != receiver:
            raise CheckFailed(f"{label} goes to {said}, not to {receiver}")
    return ", ".join(f"{label} to {receiver}" for label, receiver in ROUTES.items())


def completeness() -> str:
    """Every alert has two cases, a severity, a description and a section of the runbook, and the runbook no other."""
    faults = [fault for alert in names("alert") for fault in faults_of(alert)]
    sections = set(re.findall(r"(?m)^### (Ocr\w+)$", RUNBOOK.read_text()))
    faults += [f"docs/runbook.md: {name} is no alert" for name in sorted(sections - names("alert"))]
    faults += [f"docs/runbook.md: no section for {name}" for name in sorted(names("alert") - sections)]
    if faults:
        raise CheckFailed("\n".join(faults))
    return f"{len(sections)} sections"


def names(kind: str) -> set[str]:
    """The names of all rules of a kind, `alert` or `record`."""
    return {name for path in RULES for name in re.findall(rf"- {kind}: (\S+)", path.read_text())}


def cases_of(alert: str) -> list[str]:
    """The names of the cases of an alert."""
    return [name for path in CASES for name in re.findall(rf"(?m)^  - name: ({alert} .*)", path.read_text())]


def faults_of(alert: str) -> list[str]:
    """What an alert lacks."""
    blocks = re.split(r"(?m)^      - alert: ", "\n".join(path.read_text() for path in RULES))
    said = [block for block in blocks if block.startswith(f"{alert}\n")]
    needed = ("severity:", "summary:", "description:", f"runbook_url: docs/runbook.md#{alert.lower()}")
    faults = [f"{alert}: no {need.rstrip(':')}" for block in said for need in needed if need not in block]
    kinds = {"fires" in name for name in cases_of(alert)}
    if len(cases_of(alert)) < LEAST_CASES or len(kinds) < LEAST_CASES:
        faults.append(f"{alert}: it takes a case where it fires and one where it does not")
    return faults
