"""Plain JPEGs, now and in another worktree, in turns; `python -m loadtest.formats.jpeg_speed WORKTREE`.

It shows that rarer files cost the most frequent one nothing. Two processes, one on each tree, read the same pictures, a
few at a time, one process after the other, so that the machine is in the same mood for both. Of each few the best time
of the processor counts: the others also show whatever else the machine does. *Decoding* is header and pixels; *the
page* is everything from bytes to lines, on models that answer at once, which makes the gateway's part as large as it
can be.
"""

import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from loadtest.accuracy.circumstances import ROOT

WORKER = Path(__file__).with_name("jpeg_worker.py")
SIZES = {"a line": (640, 160), "a page": (827, 1169)}
ROUNDS = 40
WORK_S = 0.05
"""How long a process works before it is the other one's turn."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process on one tree.

    Attributes:
        process: answers lines with lines.
    """

    process: "subprocess.Popen[str]"

    def times(self, what: str, picture: Path, count: int) -> list[float]:
        """Seconds that each of so many readings took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([what, str(picture), count]), file=self.process.stdin, flush=True)
        times: list[float] = json.loads(self.process.stdout.readline())
        return times


def main(other_tree: str) -> None:
    """Print a table."""
    print("| JPEG | | before | now | ratio | middle half of ratios |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, worker(Path(other_tree)) as before, worker(ROOT) as now:
        for name, size in SIZES.items():
            picture = Path(folder, f"{size[0]}.jpg")
            picture.write_bytes(page(*size))
            for what in ("decoding", "the page"):
                print(row(f"{name}, {size[0]} x {size[1]}", what, *in_turns(before, now, what, picture)), flush=True)


@contextmanager
def worker(tree: Path) -> Iterator[Worker]:
    """A process that reads with the gateway of a tree."""
    path = os.pathsep.join(map(str, (tree.resolve(), tree.resolve() / "tests")))
    with subprocess.Popen(
        [sys.executable, str(WORKER)],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Worker(process)
        finally:
            process.terminate()


def in_turns(before: Worker, now: Worker, what: str, picture: Path) -> tuple[list[float], list[float]]:
    """The best of each round, in seconds; who begins changes, too."""
    count = max(5, round(WORK_S / min(before.times(what, picture, 5))))
    now.times(what, picture, 5)
    best: dict[Worker, list[float]] = {before: [], now: []}
    for number in range(ROUNDS):
        for one in (before, now) if number % 2 else (now, before):
            best[one].append(min(one.times(what, picture, count)))
    return best[before], best[now]


def row(name: str, what: str, before: Sequence[float], now: Sequence[float]) -> str:
    """A line of the table; the ratio is that of rounds, which are neighbours in time."""
    low, middle, high = statistics.quantiles((new / old for old, new in zip(before, now, strict=True)), n=4)
    old, new = (f"{1000 * statistics.median(times):.2f} ms" for times in (before, now))
    return f"| {name} | {what} | {old} | {new} | {middle:.3f} | {low:.3f} to {high:.3f} |"


def page(width: int, height: int) -> bytes:
    """Dark bars on paper with some grain: the models that answer at once take them for lines."""
    grain = np.random.default_rng(0).normal(235, 2, (height, width, 3)).clip(0, 255).astype(np.uint8)
    for top in range(40, height - 60, 60):
        grain[top : top + 24, 60 : width - 60] = (0, 30, 12)
    file = io.BytesIO()
    Image.fromarray(grain).filter(ImageFilter.GaussianBlur(1)).save(file, "JPEG", quality=85)
    return file.getvalue()


if __name__ == "__main__":
    main(sys.argv[1])
