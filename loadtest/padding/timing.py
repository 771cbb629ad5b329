"""How much processor time the recogniser takes with other buckets: each page's calls as if it were alone, in turn."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import onnxruntime

from loadtest.padding.buckets import Widths
from triton_models.catalog import LINE_HEIGHT
from triton_models.layouts import chunk_rows


@dataclass(frozen=True, slots=True)
class Compared:
    """Of some pages.

    Attributes:
        ratios: of each page, the processor time with the other buckets over that with those that are served.
        ratio: of all pages together.
        calls: a page, with those that are served and with the others.
    """

    ratios: Sequence[float]
    ratio: float
    calls: tuple[float, float]

    def __str__(self) -> str:
        low, _, high = quantiles(self.ratios, n=4)
        served, other = self.calls
        return (
            f"{len(self.ratios)} pages: the recogniser takes {self.ratio:.3f} of its processor time with the other "
            f"buckets (median page {median(self.ratios):.3f}, middle half {low:.2f} to {high:.2f}), for {other:.1f} "
            f"calls a page instead of {served:.1f}"
        )


def compare(model: Path, pages: Mapping[str, Widths], served: Sequence[int], other: Sequence[int]) -> Compared:
    """The two on the same pages, A B B A, so that a slower machine favours none."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    ratios, spent = [], np.zeros(2)
    for widths in filter(None, pages.values()):
        a, b, c, d = (processor_s(session, widths, buckets) for buckets in (served, other, other, served))
        ratios.append((b + c) / (a + d))
        spent += (a + d, b + c)
    counts = [
        [len(list(calls_of(widths, buckets))) for widths in pages.values() if widths] for buckets in (served, other)
    ]
    return Compared(ratios, float(spent[1] / spent[0]), (float(np.mean(counts[0])), float(np.mean(counts[1]))))


def processor_s(session: onnxruntime.InferenceSession, widths: Widths, buckets: Sequence[int]) -> float:
    """Of all threads, for the lines of a page; what they show does not matter."""
    (taken,) = session.get_inputs()
    crops = [np.zeros((rows, LINE_HEIGHT, bucket, 3), np.uint8) for bucket, rows in calls_of(widths, buckets)]
    began = time.process_time()
    for one in crops:
        session.run(None, {taken.name: one})
    return time.process_time() - began


def calls_of(widths: Widths, buckets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The (bucket, rows) of the calls for a page that is alone."""
    for bucket, rows in Counter(buckets[bisect_left(buckets, width)] for width in widths).items():
        most = chunk_rows(bucket)
        yield from ((bucket, min(most, rows - first)) for first in range(0, rows, most))
