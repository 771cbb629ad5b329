"""Which lines make the next recognition call: the arithmetic of chunks, and the queue behind the batcher.

No I/O and no clock: `gateway.inference.batcher` acts on what is decided here.
"""

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

import numpy as np

from gateway.arrays import Crop, Rows
from gateway.inference.contract import RecognitionContract

PADDING = 128
"""Grey, which the normalisation makes zero: the recognisers were trained with it, and other colours read worse."""

Owner = TypeVar("Owner", bound=Hashable)
Row = TypeVar("Row")


def bucket_for(crop: Crop, contract: RecognitionContract) -> int:
    """The narrowest bucket that holds `crop`; ValueError if none does, or if its height is not the line height."""
    height, width = crop.shape[:2]
    bucket = bisect_left(contract.buckets, width)
    if height != contract.line_height or bucket == len(contract.buckets):
        raise ValueError(
            f"a line of {height}x{width} pixels does not fit; the models read lines of {contract.line_height} pixels "
            f"in height and up to {contract.buckets[-1]} in width"
        )
    return contract.buckets[bucket]


def sent_rows(contract: RecognitionContract, bucket_width: int, lines: int) -> int:
    """How many rows are sent for so many lines: more, where the model takes one number of rows only."""
    return contract.place(bucket_width, lines).rows or lines


def chunk_rows(contract: RecognitionContract, bucket_width: int, *, max_pixels: int) -> int:
    """The most lines of a chunk: what is sent for them stays within `max_pixels`, except that one line always goes."""
    fits = max_pixels // (contract.line_height * bucket_width)
    lines = min(fits, contract.max_rows(bucket_width))
    while lines > 1 and sent_rows(contract, bucket_width, lines) > fits:
        lines -= 1
    return max(lines, 1)


def pad_rows(crops: Sequence[Crop], contract: RecognitionContract, bucket_width: int) -> Rows:
    """The tensor of one chunk: a row per crop, padded on the right, then rows of padding as the model needs them."""
    rows = sent_rows(contract, bucket_width, len(crops))
    tensor = np.full((rows, contract.line_height, bucket_width, 3), PADDING, np.uint8)
    for row, crop in zip(tensor, crops, strict=False):
        row[:, : crop.shape[1]] = crop
    return tensor


class RowQueue(Generic[Owner, Row]):
    """Rows that wait, one queue per bucket.

    Buckets take turns, one chunk each. Within a bucket owners take turns row by row, so that an owner of a thousand
    rows delays another by one row, not by a thousand. Putting and taking a row are O(1), whatever waits.
    """

    def __init__(self) -> None:
        self._buckets: OrderedDict[int, OrderedDict[Owner, deque[Row]]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, bucket_width: int, owner: Owner, row: Row) -> None:
        """Add a row behind the others of its owner."""
        self._buckets.setdefault(bucket_width, OrderedDict()).setdefault(owner, deque()).append(row)
        self._length += 1

    def take(self, most_rows: Callable[[int], int]) -> tuple[int, list[tuple[Owner, Row]]] | None:
        """The bucket whose turn it is, and at most `most_rows(bucket_width)` rows of it; None if nothing waits."""
        if not self._buckets:
            return None
        bucket_width, owners = self._buckets.popitem(last=False)
        rows = _take_in_turns(owners, most_rows(bucket_width))
        if owners:
            self._buckets[bucket_width] = owners
        self._length -= len(rows)
        return bucket_width, rows

    def discard(self, owner: Owner) -> int:
        """Drop all rows of `owner`; how many there were."""
        dropped = sum(len(owners.pop(owner, ())) for owners in self._buckets.values())
        for bucket_width in [width for width, owners in self._buckets.items() if not owners]:
            del self._buckets[bucket_width]
        self._length -= dropped
        return dropped


def _take_in_turns(owners: OrderedDict[Owner, deque[Row]], most: int) -> list[tuple[Owner, Row]]:
    taken: list[tuple[Owner, Row]] = []
    while owners and len(taken) < most:
        owner, rows = owners.popitem(last=False)
        taken.append((owner, rows.popleft()))
        if rows:
            owners[owner] = rows
    return taken
