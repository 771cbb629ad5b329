"""The process in which rapidocr and OpenCV read, seen from here."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel

WORKER = Path(__file__).with_name("peer_worker.py")


class Outcome(BaseModel):
    """What one of them made of a file.

    Attributes:
        lines, text: that rapidocr read.
        size: (width, height) that OpenCV decoded.
        error: what it raised.
    """

    lines: int = 0
    text: str = ""
    size: tuple[int, int] = (0, 0)
    error: str | None = None


class Outcomes(BaseModel):
    """What both made of it."""

    rapidocr: Outcome
    opencv: Outcome


class Peers:
    """Asks the process, one file at a time; use it as a context manager. If a file ends it, another one is started.

    Args:
        python: of the environment that has the library.
    """

    def __init__(self, python: Path) -> None:
        self._command = [str(python), str(WORKER)]
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, path: Path) -> Outcomes:
        """What they make of a file."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(str(path)), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if line:
            return Outcomes.model_validate_json(line)
        ended = Outcome(error=f"the process ended: {self._process.wait()}")
        self._process.communicate()
        self._process = self._start()
        return Outcomes(rapidocr=ended, opencv=ended)

    def _start(self) -> "subprocess.Popen[str]":
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        return subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=quiet, text=True)
