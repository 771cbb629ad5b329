"""The recogniser's memory over many mixed pages: closed shapes, and the usual padding to the widest line of a batch.

    python -m loadtest.gpu.memory buckets|widest MODELS REFERENCE SECONDS OUT

Memory depends on shapes only, so the shapes of the corpus's pages, scaled at random, are run with noise for pixels. A
few pages are read at once, and a session makes one call at a time, as an instance of a model in Triton does.
"widest" is what OCR libraries do: one session for all shapes, up to 32 lines of a page padded to the widest of them.
ONNX Runtime then plans its convolutions anew at every call; the quickest search (DEFAULT) makes that bearable.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Self

from loadtest.gpu.gpu_sessions import LINE_HEIGHT, open_session, random_input
from loadtest.gpu.sessions import model_file
from triton_models.layouts import PER_SHAPE_SHAPES, recognition_shapes, rows_of

PAGES = 10_000
PAGES_AT_ONCE = 4
ROWS = 32
SCALES = (0.6, 1.2)
OWN_MEMORY = ("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits", "--loop-ms=200")
QUICK_SEARCH = {"cudnn_conv_algo_search": "DEFAULT"}

Shape = tuple[int, ...]
Widths = tuple[int, ...]
"""Of the lines of a page, pixels at the line height."""
Run = Callable[[Shape], object]


def mixed_pages(reference: Path, seed: int = 0) -> Iterator[Widths]:
    """The widths of lines of pages without end: those of the reference in random order, scaled at random."""
    readings = json.loads(reference.read_text(encoding="utf-8"))
    known = [reading["widths"] for reading in readings.values() if reading["widths"]]
    rng = random.Random(seed)
    while True:
        yield tuple(max(16, round(width * rng.uniform(*SCALES))) for width in rng.choice(known))


def closed_calls(widths: Widths) -> Iterator[Shape]:
    """The recognition calls of a page when the set of shapes is closed."""
    buckets = PER_SHAPE_SHAPES.buckets
    for index, bucket in enumerate(buckets):
        narrower = buckets[index - 1] if index else 0
        lines = sum(narrower < min(width, buckets[-1]) <= bucket for width in widths)
        yield from ((rows, LINE_HEIGHT, bucket, 3) for rows in _rows(bucket, lines))


def _rows(bucket: int, lines: int) -> Iterator[int]:
    counts = rows_of(bucket, PER_SHAPE_SHAPES.row_counts)
    while lines > 0:
        rows = counts[min(bisect_left(counts, lines), len(counts) - 1)]
        yield rows
        lines -= rows


def widest_calls(widths: Widths) -> Iterator[Shape]:
    """The recognition calls of a page when every batch is as wide as its widest line."""
    for start in range(0, len(widths), ROWS):
        batch = widths[start : start + ROWS]
        yield len(batch), LINE_HEIGHT, 8 * -(-max(batch) // 8), 3


def one_session(file: Path) -> Run:
    """A session for all shapes."""
    session, turn = open_session(file, QUICK_SEARCH), threading.Lock()

    def run(shape: Shape) -> object:
        feed = random_input(session, shape)
        with turn:
            return session.run(None, feed)

    return run


def session_per_shape(file: Path) -> Run:
    """A session for each shape of the closed set, all warmed up now."""
    shapes: list[Shape] = [(rows, LINE_HEIGHT, width, 3) for width, rows in recognition_shapes(PER_SHAPE_SHAPES)]
    sessions = {shape: open_session(file, {}) for shape in shapes}
    feeds = {shape: random_input(session, shape) for shape, session in sessions.items()}

    turns = {shape: threading.Lock() for shape in shapes}  # an instance of a model makes one call at a time

    def run(shape: Shape) -> object:
        with turns[shape]:
            return sessions[shape].run(None, feeds[shape])

    for shape in shapes:
        run(shape)
    return run


class OwnMemory:
    """Memory of this process on the GPU, MiB, read in the background; use it as a context manager.

    Attributes:
        mebibytes: when it was last read; None before that, and without a GPU.
    """

    def __init__(self, command: Sequence[str] = OWN_MEMORY) -> None:
        self.mebibytes: float | None = None
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        with suppress(FileNotFoundError):
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.terminate()
            self._process.wait()
            self._thread.join()
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        own = str(os.getpid())
        for line in self._process.stdout:
            process, _, mebibytes = line.strip().partition(", ")
            if process == own:
                self.mebibytes = float(mebibytes)


def grow(
    run: Run, calls: Callable[[Widths], Iterator[Shape]], pages: Iterator[Widths], seconds: float
) -> list[tuple[int, float]]:
    """(pages so far, this process's memory on the GPU in MiB) after every page, until they or the time are used up."""
    curve: list[tuple[int, float]] = []

    def read(widths: Widths) -> None:
        for shape in calls(widths):
            run(shape)

    with OwnMemory() as memory, ThreadPoolExecutor(PAGES_AT_ONCE) as pool:
        time.sleep(0.5)
        end = time.monotonic() + seconds
        for count, _ in enumerate(pool.map(read, pages), 1):
            if memory.mebibytes is not None:
                curve.append((count, memory.mebibytes))
            if time.monotonic() > end:
                pool.shutdown(cancel_futures=True)
                break
    return thinned(curve)


def thinned(curve: Sequence[tuple[int, float]], most: int = 400) -> list[tuple[int, float]]:
    """At most so many points of a curve, its last one among them."""
    step = max(1, -(-len(curve) // most))
    return [*curve[::step], *curve[-1:]]


def main(layout: str, models: Path, reference: Path, seconds: float, out: Path) -> None:
    """Measure and write."""
    started = time.monotonic()
    make, calls = {"buckets": (session_per_shape, closed_calls), "widest": (one_session, widest_calls)}[layout]
    run = make(model_file(models / "small", "text_recognition*"))
    ready_s = time.monotonic() - started
    curve = grow(run, calls, islice(mixed_pages(reference), PAGES), seconds)
    out.write_text(json.dumps({"layout": layout, "ready_s": round(ready_s, 1), "pages_and_mib": curve}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
