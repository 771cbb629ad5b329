"""What it costs that the Python backend runs every instance in a process of its own.

    python -m loadtest.gpu.instances threads|processes MODELS OUT

The same sessions as threads of one process, as Triton's C++ backend has them, and as processes: throughput together,
and memory on the GPU. Processes take turns on a GPU; kernels of one process's streams can run side by side.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadtest.gpu.gpu_sessions import LINE_HEIGHT, Case, open_session, random_input
from loadtest.gpu.sampling import GpuSampler
from loadtest.gpu.sessions import model_file

SECONDS = 1.5
OF_EACH = 4
MIXES = {
    "1 recogniser": (1, 0),
    "4 recognisers": (4, 0),
    "1 detector": (0, 1),
    "4 detectors": (0, 4),
    "2 of each": (2, 2),
}
"""How many recognisers (32 lines of 320) and detectors (736 x 1152) run at once."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A warm session.

    Attributes:
        case: what it runs.
        executor: its thread, or its process.
        run: what is submitted there: (when to begin, for how long) to the number of runs.
    """

    case: Case
    executor: Executor
    run: Callable[[float, float], int]


class Runner:
    """Opens and warms up a session, then runs it for as long as it is told."""

    def __init__(self, case: Case) -> None:
        self._session = open_session(case.file, {})
        self._feed = random_input(self._session, case.shape)
        for _ in range(3):
            self._session.run(None, self._feed)

    def run(self, begin_at: float, seconds: float) -> int:
        """Runs finished in that time."""
        time.sleep(max(0.0, begin_at - time.time()))
        runs, end = 0, time.time() + seconds
        while time.time() < end:
            self._session.run(None, self._feed)
            runs += 1
        return runs


def cases(models: Path) -> list[Case]:
    """The sessions of the largest mix, recognisers first."""
    lines = Case("lines", model_file(models / "small", "text_recognition*"), (32, LINE_HEIGHT, 320, 3))
    pages = Case("pages", model_file(models / "small", "text_detection*"), (1, 736, 1152, 3))
    return [lines] * OF_EACH + [pages] * OF_EACH


@contextmanager
def as_threads(wanted: Sequence[Case]) -> Iterator[list[Worker]]:
    """Sessions of this process, each with a thread."""
    with ThreadPoolExecutor(len(wanted)) as executor:
        runners = list(executor.map(Runner, wanted))
        yield [Worker(case, executor, runner.run) for case, runner in zip(wanted, runners, strict=True)]


_prepared: list[Runner] = []
"""In a process of a pool: its session."""


def prepare(case: Case) -> None:
    """What such a process does first."""
    _prepared.append(Runner(case))


def run_prepared(begin_at: float, seconds: float) -> int:
    """What such a process does then."""
    return _prepared[0].run(begin_at, seconds)


@contextmanager
def as_processes(wanted: Sequence[Case]) -> Iterator[list[Worker]]:
    """Sessions in processes of their own."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        workers = []
        for case in wanted:
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=prepare, initargs=(case,))
            workers.append(Worker(case, stack.enter_context(pool), run_prepared))
        for job in [worker.executor.submit(run_prepared, 0.0, 0.0) for worker in workers]:
            job.result()
        yield workers


def rates(workers: Sequence[Worker]) -> dict[str, float]:
    """Lines and pages a second when all these run at once."""
    begin_at = time.time() + 0.2
    jobs = [worker.executor.submit(worker.run, begin_at, SECONDS) for worker in workers]
    totals: dict[str, float] = {}
    for worker, job in zip(workers, jobs, strict=True):
        label, rows = worker.case.label, worker.case.shape[0]
        totals[label] = round(totals.get(label, 0.0) + job.result() * rows / SECONDS, 1)
    return totals


def main(how: str, models: Path, out: Path) -> None:
    """Measure and write."""
    wanted = cases(models)
    start = {"threads": as_threads, "processes": as_processes}[how]
    with GpuSampler() as gpu:
        time.sleep(0.5)
        empty = gpu.samples[-1].mebibytes if gpu.samples else 0.0
        with start(wanted) as workers:
            per_s = {
                name: rates([*workers[:recognisers], *workers[OF_EACH : OF_EACH + detectors]])
                for name, (recognisers, detectors) in MIXES.items()
            }
            mebibytes = max((sample.mebibytes for sample in gpu.samples), default=0.0) - empty
    out.write_text(json.dumps({"how": how, "sessions": len(wanted), "mib": mebibytes, "per_s": per_s}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
