"""The programs that check: those of `requirements/ops.txt` in an environment of their own, and those of the system."""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.rapidocr_reader import prepare_environment

FOLDER = ROOT / ".local" / "ops"
LOCK_FILE = ROOT / "requirements" / "ops.txt"
TIMEOUT_S = 120.0
SYSTEM = {
    "nginx": "Debian: apt-get install nginx-light",
    "systemd-analyze": "Debian: apt-get install systemd",
    "kubectl": "https://kubernetes.io/docs/tasks/tools",
    "promtool": "Debian: apt-get install prometheus",
    "amtool": "Debian: apt-get install prometheus-alertmanager",
}
"""Programs that pip can't install, and where they come from."""


class CheckFailed(Exception):
    """A program found fault; the message has its words."""


class ProgramMissing(Exception):
    """A program is not there, so nothing was checked; the message says how to get it."""


def install_tools(say: Callable[[str], None]) -> None:
    """Install what pip can, unless it is there."""
    prepare_environment(FOLDER, LOCK_FILE, say)


def find(name: str) -> str:
    """The path of a program: of the own environment, or on PATH.

    Raises:
        ProgramMissing: it is in neither.
    """
    own = FOLDER / "bin" / name
    path = str(own) if own.exists() else shutil.which(name)
    if path is None:
        raise ProgramMissing(f"{name} is not here; {SYSTEM.get(name, 'make ops-check installs it')}")
    return path


def run(name: str, arguments: Sequence[str | Path], *, given: str | None = None) -> str:
    """What a program prints.

    Args:
        name: of the program.
        arguments: of its command line.
        given: its standard input.

    Raises:
        ProgramMissing: it is not there.
        CheckFailed: it ends with an exit code other than 0.
    """
    command = [find(name), *map(str, arguments)]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT_S, check=False
    )
    if done.returncode:
        raise CheckFailed(f"{done.stdout}{done.stderr}".strip())
    return done.stdout + done.stderr
