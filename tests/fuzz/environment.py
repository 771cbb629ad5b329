"""The environment of the fuzzers, beside the gateway's."""

import site
import sys
from collections.abc import Callable
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.accuracy.rapidocr_reader import prepare_environment

FOLDER = ROOT / ".local" / "fuzz"
LOCK_FILE = ROOT / "requirements" / "fuzz.txt"


def prepare(say: Callable[[str], None]) -> Path:
    """Install the fuzzers, unless they are there; their Python, which sees the gateway's packages behind its own."""
    python = prepare_environment(FOLDER, LOCK_FILE, say)
    packages = FOLDER / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "gateway-packages.pth").write_text("\n".join([*site.getsitepackages(), str(ROOT)]) + "\n")
    return python
