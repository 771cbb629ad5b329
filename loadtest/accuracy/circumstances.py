"""Under what circumstances a report came about: the command, the day, the versions, the machine."""

import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a reader needs to judge or repeat a measurement.

    Attributes:
        command: as one would type it.
        date: in UTC, ISO 8601.
        versions: by name, the gateway's first.
        model_set: what the gateway served.
        machine: cores and processor.
    """

    command: str
    date: str
    versions: Mapping[str, str]
    model_set: str
    machine: str

    @property
    def versions_told(self) -> str:
        """The versions in one line."""
        return ", ".join(f"{name} {version}" for name, version in self.versions.items())


def observe(command: str, model_set: str, library_versions: Mapping[str, str]) -> Circumstances:
    """The circumstances of this moment."""
    return Circumstances(
        command=command,
        date=datetime.now(UTC).date().isoformat(),
        versions={"gateway": gateway_version(), **library_versions},
        model_set=model_set,
        machine=describe_machine(),
    )


def make_command(target: str, arguments: Sequence[str] | None) -> str:
    """A target of the Makefile with the options that were given (None: those of this process), as one would type it."""
    given = shlex.join(sys.argv[1:] if arguments is None else arguments)
    return f'make {target} ARGS="{given}"' if given else f"make {target}"


def gateway_version() -> str:
    """The version, with the commit where git knows one."""
    version = importlib.metadata.version("ocr-gateway")
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return version
    return f"{version} (commit {result.stdout.strip()})"


def describe_machine() -> str:
    """The cores that this process may use, and what they are."""
    return f"{len(os.sched_getaffinity(0))} cores, {processor_name()}, {platform.system()} {platform.machine()}"


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name as Linux gives it."""
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(encoding="utf-8"), re.MULTILINE)
    return match[1].strip() if match else "processor unknown"
