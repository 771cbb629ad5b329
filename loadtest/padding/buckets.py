"""The arithmetic of buckets: what is wasted with some, and the best that so many can do. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import ceil

from gateway.inference.batching import chunk_rows, sent_rows
from gateway.inference.contract import RecognitionContract

STEP = 8
"""Widths are multiples of it: a step of the recogniser."""

Widths = Sequence[int]
"""Of the lines of a page, in pixels, each at most the last bucket."""


def pieces(widths: Widths, last: int) -> list[int]:
    """The lines, those that are too wide in equal parts, as they are cut."""
    parts = [ceil(width / last) for width in widths]
    return [ceil(width / count) for width, count in zip(widths, parts, strict=True) for _ in range(count)]


def waste(widths: Iterable[int], buckets: Sequence[int]) -> float:
    """The share of the pixels sent that is padding to the right of lines."""
    lines = list(widths)
    sent = sum(buckets[bisect_left(buckets, width)] for width in lines)
    return 1 - sum(lines) / sent if sent else 0.0


def waste_with_rows(pages: Iterable[Widths], contract: RecognitionContract, *, max_pixels: int) -> float:
    """The share with whole rows of padding, too, which models of fixed shapes need; each page is sent alone."""
    used = sent = 0
    for widths in pages:
        used += sum(widths)
        sent += sum(
            _sent_columns(bucket, lines, contract, max_pixels) for bucket, lines in _by_bucket(widths, contract)
        )
    return 1 - used / sent if sent else 0.0


def _by_bucket(widths: Widths, contract: RecognitionContract) -> Iterable[tuple[int, int]]:
    return Counter(contract.buckets[bisect_left(contract.buckets, width)] for width in widths).items()


def _sent_columns(bucket: int, lines: int, contract: RecognitionContract, max_pixels: int) -> int:
    most = chunk_rows(contract, bucket, max_pixels=max_pixels)
    chunks = [most] * (lines // most) + [lines % most] * bool(lines % most)
    return bucket * sum(sent_rows(contract, bucket, rows) for rows in chunks)


def best_buckets(widths: Iterable[int], count: int, last: int) -> tuple[int, ...]:
    """So many widths, the last of them given, with the least padding for these lines.

    Dynamic programming over the multiples of a step: the least padded width of all lines up to one of them, with so
    many buckets (as for one-dimensional k-medians).
    """
    at_step = Counter(ceil(width / STEP) for width in widths)
    ends = [step for step in sorted({*at_step, last // STEP}) if step * STEP <= last]
    lines_up_to = [0, *accumulate(at_step.get(step, 0) for step in ends)]
    least, chosen = _least_padded(ends, lines_up_to, min(count, len(ends)))
    del least
    return tuple(step * STEP for step in chosen)


def _least_padded(ends: Sequence[int], lines_up_to: Sequence[int], count: int) -> tuple[float, list[int]]:
    """The padded steps in all, and the buckets' ends."""
    size = len(ends)
    least = [0.0] + [float("inf")] * size
    before: list[list[int]] = []
    for _ in range(count):
        nearer, came_from = [0.0] + [float("inf")] * size, [0] * (size + 1)
        for end in range(1, size + 1):
            costs = (least[start] + ends[end - 1] * (lines_up_to[end] - lines_up_to[start]) for start in range(end))
            nearer[end], came_from[end] = min((cost, start) for start, cost in enumerate(costs))
        least = nearer
        before.append(came_from)
    chosen, end = [], size
    for came_from in reversed(before):
        if end:
            chosen.append(ends[end - 1])
            end = came_from[end]
    return least[size], chosen[::-1]


def by_group(pages: Mapping[str, Widths]) -> dict[str, list[int]]:
    """The lines of each kind of page: what stands before the first "_" in its name."""
    groups: dict[str, list[int]] = {}
    for name, widths in sorted(pages.items()):
        groups.setdefault(name.split("_")[0], []).extend(widths)
    return groups
