"""`deploy/systemd`, read by systemd itself."""

import re
import tempfile
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from tests.ops.programs import CheckFailed, run

FOLDER = ROOT / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
ALL = sorted([*UNITS, *FOLDER.glob("*.socket")])
MOST_EXPOSED = 2.0
"""The score of `systemd-analyze security` from which a unit counts as exposed here; it says OK up to 4.9."""

_SCORE = re.compile(r"Overall exposure level for .*: ([0-9.]+)")
_PROGRAM = re.compile(r"(?m)^(Exec\w+=)(\S+)")


def verify() -> str:
    """Every directive is known and means something; programs that are not installed here are stood in for."""
    with tempfile.TemporaryDirectory() as folder:
        copies = [_copy(unit, Path(folder)) for unit in ALL]
        said = run("systemd-analyze", ["verify", "--man=no", *copies])
    if said.strip():
        raise CheckFailed(said)
    return ", ".join(unit.name for unit in ALL)


def security() -> str:
    """No unit may do much more than it must."""
    scores = {unit.name: _score(unit) for unit in UNITS}
    exposed = [f"{name} {score}" for name, score in scores.items() if score > MOST_EXPOSED]
    if exposed:
        raise CheckFailed(f"exposed by more than {MOST_EXPOSED}: {', '.join(exposed)}")
    return ", ".join(f"{name} {score} of 10" for name, score in scores.items())


def _score(unit: Path) -> float:
    said = run("systemd-analyze", ["security", "--offline=true", "--no-pager", unit])
    found = _SCORE.search(said)
    if found is None:
        raise CheckFailed(f"no score for {unit.name}: {said}")
    return float(found[1])


def _copy(unit: Path, folder: Path) -> Path:
    """The unit with programs that exist everywhere; templates get an instance."""
    copy = folder / unit.name.replace("@.", "@8081.")
    copy.write_text(_PROGRAM.sub(r"\1/bin/true", unit.read_text()))
    return copy
