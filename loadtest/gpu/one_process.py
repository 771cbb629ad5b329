"""The models alone in one process, without Triton: `python -m loadtest.gpu.one_process REPOSITORY WORK... OUT`.

Threads share sessions of one shape each, as instances of Triton's C++ backend share a process, and work through the
recorded calls of `replay`. What they reach beyond the same work over gRPC is the price of a process per model.
"""

import itertools
import json
import sys
import threading
import time
from pathlib import Path

import onnxruntime as ort

from loadtest.gpu.gpu_sessions import Array, open_session
from loadtest.gpu.replay import Work, load
from loadtest.gpu.sampling import GpuSampler
from loadtest.gpu.sessions import model_file

THREADS = (1, 2, 4, 8)
SECONDS = 2.0

Call = tuple[ort.InferenceSession, dict[str, Array]]


class Sessions:
    """One warm session for each shape."""

    def __init__(self, repository: Path) -> None:
        self._files = {
            "detect": model_file(repository, "text_detection*"),
            "recognize": model_file(repository, "text_recognition*"),
        }
        self._sessions: dict[tuple[int, ...], ort.InferenceSession] = {}

    def call(self, kind: str, tensor: Array) -> Call:
        """The session and the input of a recorded call."""
        batch = tensor[None] if kind == "detect" else tensor
        if batch.shape not in self._sessions:
            self._sessions[batch.shape] = open_session(self._files[kind], {})
        session = self._sessions[batch.shape]
        return session, {session.get_inputs()[0].name: batch}


def pages_per_second(work: Work, calls: list[Call], threads: int) -> float:
    """How fast so many threads get the calls done, all together."""
    turn = itertools.cycle(calls)
    lock, done, end = threading.Lock(), [0] * threads, time.perf_counter() + SECONDS

    def run(thread: int) -> None:
        while time.perf_counter() < end:
            with lock:
                session, feed = next(turn)
            session.run(None, feed)
            done[thread] += 1

    started = time.perf_counter()
    workers = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return round(work.pages * sum(done) / len(calls) / (time.perf_counter() - started), 1)


def main(repository: Path, works: list[Path], out: Path) -> None:
    """Measure and write."""
    sessions = Sessions(repository)
    result = {}
    with GpuSampler() as gpu:
        for path in works:
            work = load(path)
            calls = [sessions.call(kind, tensor) for kind, tensor in work.mixed(0)]
            for session, feed in calls:
                session.run(None, feed)
            rates = [{"threads": count, "images_per_s": pages_per_second(work, calls, count)} for count in THREADS]
            mebibytes = gpu.samples[-1].mebibytes if gpu.samples else None
            result[path.stem] = {"points": rates, "gpu_mib": mebibytes}
    out.write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:-1]], Path(sys.argv[-1]))
