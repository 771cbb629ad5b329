"""Results: one line of JSON a measurement, written at once, because a lent machine may go at any time."""

import json
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """A measurement.

    Attributes:
        name: of the measurement.
        seconds: that it took.
        error: why it has no data; None if nothing went wrong.
        data: whatever it found, in the types that JSON has.
    """

    name: str
    seconds: float
    error: str | None
    data: Any


class Notebook:
    """Makes measurements and writes each down, the failed ones too; one failure does not end the rest.

    Args:
        path: lines are appended here.
        seconds: how long all of it may take.
        say: told how it goes.
    """

    def __init__(self, path: Path, seconds: float, say: Callable[[str], None]) -> None:
        self._path = path
        self._end = time.monotonic() + seconds
        self._say = say
        path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def seconds_left(self) -> float:
        """Until everything has to be over."""
        return self._end - time.monotonic()

    def measure(self, name: str, needs_s: float, function: Callable[[], Any]) -> None:
        """Make one measurement, unless there is no time for it."""
        if self.seconds_left < needs_s:
            self._write(Result(name, 0.0, f"not run: it needs {needs_s:g} s, {self.seconds_left:.0f} are left", None))
            return
        started = time.monotonic()
        try:
            data, error = function(), None
        except Exception:  # whatever it is: the machine is lent for minutes, and the others are to be made
            data, error = None, traceback.format_exc(limit=-4)
        self._write(Result(name, round(time.monotonic() - started, 1), error, data))

    def _write(self, result: Result) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(as_line(result))
        outcome = result.error.strip().splitlines()[-1] if result.error else brief(result.data)
        self._say(f"{result.name} ({result.seconds:g} s): {outcome}")


def brief(data: object, most: int = 300) -> str:
    """The beginning of some data."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= most else f"{text[:most]} ..."


def read_results(paths: Iterable[Path]) -> dict[str, Result]:
    """All results in these files by name; of equal names the last that has data."""
    results: dict[str, Result] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            result = Result(**json.loads(line))
            if result.data is not None or result.name not in results:
                results[result.name] = result
    return results


def write_results(path: Path, results: Iterable[Result]) -> None:
    """A file of these results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(map(as_line, results)), encoding="utf-8")


def as_line(result: Result) -> str:
    """One line of JSON."""
    return json.dumps(asdict(result), ensure_ascii=False, separators=(",", ":")) + "\n"
