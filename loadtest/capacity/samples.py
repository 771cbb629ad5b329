"""What the load generator writes down: a line for each request and each step, on the wall clock.

The generator runs in an environment of its own, so that this file is all that it and the report share.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self, TextIO

OK = 200
NO_ANSWER = 0
"""Stands for a status when the connection broke or time ran out."""
FIRST_PAGE = "first page"


@dataclass(frozen=True, slots=True)
class Sample:
    """One request.

    Attributes:
        mix: what was sent.
        due_at: when it was to be sent, seconds.
        seconds: from then to the end of its answer, so that a generator that is late hides nothing.
        status: of HTTP, or NO_ANSWER.
        code: of the problem, if it is one, or what is wrong with the pages.
        stages_ms: by stage, from the answer; of a document also FIRST_PAGE, since it was due.
    """

    mix: str
    due_at: float
    seconds: float
    status: int
    code: str
    stages_ms: dict[str, float]

    @property
    def good(self) -> bool:
        """Whether everything that was asked for came back."""
        return self.status == OK and not self.code

    @property
    def ended_at(self) -> float:
        """When its answer was complete."""
        return self.due_at + self.seconds


@dataclass(frozen=True, slots=True)
class Step:
    """A time in which the rate stayed the same.

    Attributes:
        rate: requests a second that were to be sent.
        began_at, ended_at: seconds; answers may come later.
    """

    rate: float
    began_at: float
    ended_at: float

    @property
    def length_s(self) -> float:
        """How long requests were sent."""
        return self.ended_at - self.began_at


@dataclass(frozen=True, slots=True)
class Recording:
    """All of one run.

    Attributes:
        samples: in the order in which they ended.
        steps: in order.
    """

    samples: tuple[Sample, ...]
    steps: tuple[Step, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """What a `Recorder` wrote."""
        return cls.of(path.read_text(encoding="utf-8").splitlines())

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """The same from lines."""
        entries = [json.loads(line) for line in lines]
        return cls(
            tuple(Sample(**entry["sample"]) for entry in entries if "sample" in entry),
            tuple(Step(**entry["step"]) for entry in entries if "step" in entry),
        )

    def of_step(self, step: Step) -> list[Sample]:
        """The requests that were due in it."""
        return [sample for sample in self.samples if step.began_at <= sample.due_at < step.ended_at]


class Recorder:
    """Keeps samples and steps, and writes them into a file if there is one.

    Attributes:
        file: see there.
        kept: whether samples are kept; somebody has to `clear` them.
    """

    def __init__(self, file: TextIO | None = None, *, kept: bool = True) -> None:
        self.file = file
        self.kept = kept
        self.steps: list[Step] = []
        self._samples: list[Sample] = []

    def add_sample(self, sample: Sample) -> None:
        """Keep one request."""
        if self.kept:
            self._samples.append(sample)
        self._write("sample", sample)

    def add_step(self, step: Step) -> None:
        """Keep one step."""
        self.steps.append(step)
        self._write("step", step)

    def clear(self) -> None:
        """Forget what was kept; what is in the file stays there."""
        self._samples.clear()
        self.steps.clear()

    def recording(self) -> Recording:
        """All so far."""
        return Recording(tuple(self._samples), tuple(self.steps))

    def _write(self, kind: str, entry: Sample | Step) -> None:
        if self.file is not None:
            print(json.dumps({kind: asdict(entry)}), file=self.file, flush=True)
