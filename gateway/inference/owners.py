"""Who waits for lines in the batcher, and what has come of each line.

An owner is one `Batcher.read` under way. It is over when every line has its answer, or with the first error, unless the
owner takes lines in part: then a line that the models could not read has that error for an answer.
"""

import asyncio
import copy
import time
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

from gateway.arrays import Crop, LineSteps
from gateway.deadline import Deadline
from gateway.errors import InferenceFailed, InferenceTimeout, OcrError, OutOfMemory
from gateway.metrics import Sent

Answer: TypeAlias = LineSteps | OcrError
"""What was read, or why nothing was."""

LOST_ALONE = (OutOfMemory, InferenceFailed)
"""Errors that say something about the lines of one call. All others, of a server that is away, hangs or is overloaded,
say that nothing can be read now, and that the whole page had better be tried again."""


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """One line that waits.

    Attributes:
        index: its place among its owner's lines.
        crop: its pixels.
        queued_at: since when, on the monotonic clock.
    """

    index: int
    crop: Crop
    queued_at: float


@dataclass(eq=False, slots=True)
class Owner:
    """One `read` under way.

    Attributes:
        lines: how many it waits for.
        deadline: when it stops waiting.
        partial: whether it takes an error for an answer.
        alternatives: whether it wants them.
        done: set when there is nothing left to wait for.
        sent: counts the calls that carry its lines.
        started_at: on the monotonic clock.
        answers: by the lines' indices.
        error: what ended it.
    """

    lines: int
    deadline: Deadline
    partial: bool
    alternatives: bool
    done: asyncio.Future[None]
    sent: Sent = field(default_factory=Sent)
    started_at: float = field(default_factory=time.monotonic)
    answers: dict[int, Answer] = field(default_factory=dict)
    error: BaseException | None = None

    def take(self, index: int, answer: Answer) -> None:
        """Note what came of a line."""
        self.answers[index] = answer
        if len(self.answers) == self.lines:
            self._finish()

    def bears(self, error: BaseException) -> TypeGuard[OcrError]:
        """Whether it goes on without the lines that failed so."""
        return self.partial and isinstance(error, LOST_ALONE)

    def fail(self, error: BaseException) -> None:
        """End it with an error, the first one counts."""
        self.error = self.error or error
        self._finish()

    def result(self) -> list[Answer]:
        """The answers to all lines in order; raises what went wrong, InferenceTimeout if nothing did but time."""
        if self.error is not None:
            raise self.error
        unread = self.lines - len(self.answers)
        if unread:
            waited = time.monotonic() - self.started_at
            raise InferenceTimeout(f"{unread} of {self.lines} lines were still unread after {waited:.1f} s")
        return [self.answers[index] for index in range(self.lines)]

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def own_copy(error: BaseException) -> BaseException:
    """The error of a shared call for one owner to raise: each is given its own stage. The cause is the same."""
    if not isinstance(error, OcrError):
        return error
    copied = copy.copy(error).with_traceback(error.__traceback__)
    copied.__cause__ = error.__cause__
    return copied
