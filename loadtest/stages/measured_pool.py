"""The gateway's pool of threads with a meter: what each function that it runs takes of a processor and of memory."""

import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TypeVar, TypeVarTuple

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class MeasuredPool(CpuPool):
    """A pool of one thread, so that what is measured belongs to what runs.

    Attributes:
        seconds: on a processor, by function, since they were last taken.
        peak_bytes: the most that a function held beyond what it found, by function; only while tracemalloc traces.
    """

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.seconds: dict[str, float] = defaultdict(float)
        self.peak_bytes: dict[str, int] = defaultdict(int)

    async def run(self, function: Callable[[*Arguments], T], *args: *Arguments, deadline: Deadline | None = None) -> T:
        """As `CpuPool.run`."""

        def measured(*arguments: *Arguments) -> T:
            tracing = tracemalloc.is_tracing()
            if tracing:
                tracemalloc.reset_peak()
                held = tracemalloc.get_traced_memory()[0]
            started = time.thread_time()
            result = function(*arguments)
            name = name_of(function)
            self.seconds[name] += time.thread_time() - started
            if tracing:
                self.peak_bytes[name] = max(self.peak_bytes[name], tracemalloc.get_traced_memory()[1] - held)
            return result

        return await super().run(measured, *args, deadline=deadline)

    def take(self) -> dict[str, float]:
        """The seconds since they were last taken."""
        taken, self.seconds = dict(self.seconds), defaultdict(float)
        return taken


def name_of(function: Callable[..., object]) -> str:
    """Its name; of the one within for a partial application."""
    return name_of(function.func) if isinstance(function, partial) else function.__name__
