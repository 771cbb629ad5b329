"""The library's side of the comparison, seen from here: its environment, and the process that reads with it."""

import hashlib
import json
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel

from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.readings import Reading

WORKER = Path(__file__).with_name("rapidocr_worker.py")
ANSWER_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 10.0


class Description(BaseModel):
    """What the library's process is made of.

    Attributes:
        versions: of its packages.
        weights: SHA-256 of each file with weights.
    """

    versions: dict[str, str]
    weights: dict[str, str]


def prepare_environment(folder: Path, lock_file: Path, say: Callable[[str], None]) -> Path:
    """Install the locked packages into a virtual environment of their own, unless they are there; its Python.

    Raises:
        AccuracyError: pip could not install them.
    """
    python, stamp = folder / "bin" / "python", folder / "lock.sha256"
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != digest:
        say(f"installing what {lock_file.name} lists into {folder} (once)")
        run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)])
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
        run([*pip, "install", "-qq", "--require-hashes", "--only-binary=:all:", "--requirement", str(lock_file)])
        stamp.write_text(digest, encoding="ascii")
    return python


def run(command: list[str]) -> None:
    """Run to the end; its own output says what went wrong."""
    try:
        subprocess.run(command, check=True)
    except subprocess.CalledProcessError as error:
        raise AccuracyError(f"the library's environment could not be made: {error}") from error


class RapidocrReader:
    """Reads with the library rapidocr in a process of its own; use it as a context manager.

    Args:
        python: of the environment that has the library.
        worker: the script that is run there.

    Attributes:
        description: what that process is made of; known once it has started.
    """

    name = "rapidocr"
    description: Description

    def __init__(self, python: Path, worker: Path = WORKER) -> None:
        self._command = [str(python), str(worker)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.description = Description.model_validate_json(self._receive())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def read(self, image: Path) -> Reading:
        """Read one image; the time is that of the library's call, which loads the file.

        Raises:
            AccuracyError: the process ended, or is silent.
        """
        assert self._process.stdin is not None
        # A broken pipe shows as the end of its answers.
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"path": str(image)}).encode() + b"\n")
            self._process.stdin.flush()
        return Reading.model_validate_json(self._receive())

    def _receive(self) -> bytes:
        """The next line; there is never more than one on its way, so waiting for the pipe is enough."""
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], ANSWER_TIMEOUT_S)
        if not readable:
            raise AccuracyError(f"rapidocr did not answer for {ANSWER_TIMEOUT_S:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise AccuracyError("rapidocr's process ended; it says above why")
        return line

    def _stop(self) -> None:
        """Close its input, at which it ends; it holds nothing that would be lost."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
