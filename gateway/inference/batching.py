"""Which lines make the next recognition call: the arithmetic of chunks, and the queue behind the batcher.

No I/O and no clock: `gateway.inference.batcher` acts on what is decided here.
"""

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from gateway.arrays import Crop, Rows
from gateway.inference.contract import RecognitionContract

PADDING = 128
"""Grey, which the normalisation makes zero: the recognisers were trained with it, and other colours read worse."""

Owner = TypeVar("Owner", bound=Hashable)
Row = TypeVar("Row")
OwnedRows: TypeAlias = list[tuple[Owner, Row]]


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


def row_steps(contract: RecognitionContract, bucket_width: int, *, max_pixels: int) -> tuple[int, ...]:
    """The numbers of rows that a chunk may be cut down to, ascending up to a full one.

    Halves of a full chunk, rounded up to numbers that a model takes: there are at most 1 + log2(full) of them. None for
    a bucket that is not served.
    """
    if not contract.max_rows(bucket_width):
        return ()
    full = chunk_rows(contract, bucket_width, max_pixels=max_pixels)
    halves = [full >> times for times in range(full.bit_length())]
    return tuple(sorted({sent_rows(contract, bucket_width, lines) for lines in halves}))


def step_below(steps: Sequence[int], rows: int) -> int | None:
    """The step to cut a chunk of so many rows down to: at most half of them, or else the next one; None if none is."""
    lower = [step for step in steps if step < rows]
    halving = [step for step in lower if 2 * step <= rows]
    return max(halving or lower, default=None)


def pad_rows(crops: Sequence[Crop], contract: RecognitionContract, bucket_width: int) -> Rows:
    """The tensor of one chunk: a row per crop, padded on the right, then rows of padding as the model needs them."""
    rows = sent_rows(contract, bucket_width, len(crops))
    tensor = np.empty((rows, contract.line_height, bucket_width, 3), np.uint8)
    for row, crop in zip(tensor, crops, strict=False):
        row[:, : crop.shape[1]] = crop
        row[:, crop.shape[1] :] = PADDING
    tensor[len(crops) :] = PADDING
    return tensor


@dataclass(frozen=True, slots=True)
class _Returned(Generic[Owner, Row]):
    """Rows that were sent and come back, to be sent again at most `most` at a time."""

    bucket_width: int
    most: int
    rows: OwnedRows[Owner, Row]


class RowQueue(Generic[Owner, Row]):
    """Rows that wait, one queue per bucket.

    Buckets take turns, one chunk each. Within a bucket owners take turns row by row, so that an owner of a thousand
    rows delays another by one row, not by a thousand. Putting and taking a row are O(1), whatever waits.

    Rows that come back, because their chunk was too large, go first: their turn had come. They stay among themselves,
    in ever smaller chunks, so that the number of times a row is sent is bounded.
    """

    def __init__(self) -> None:
        self._buckets: OrderedDict[int, OrderedDict[Owner, deque[Row]]] = OrderedDict()
        self._returned: deque[_Returned[Owner, Row]] = deque()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def put(self, bucket_width: int, owner: Owner, row: Row) -> None:
        """Add a row behind the others of its owner."""
        self._buckets.setdefault(bucket_width, OrderedDict()).setdefault(owner, deque()).append(row)
        self._length += 1

    def put_back(self, bucket_width: int, rows: OwnedRows[Owner, Row], *, most: int) -> None:
        """Add the rows of a chunk in front of everything, to be taken at most `most` at a time."""
        if rows:
            self._returned.appendleft(_Returned(bucket_width, most, rows))
            self._length += len(rows)

    def take(self, most_rows: Callable[[int], int]) -> tuple[int, OwnedRows[Owner, Row]] | None:
        """The bucket whose turn it is, and at most `most_rows(bucket_width)` rows of it; None if nothing waits."""
        chunk = self._take_returned(most_rows) or self._take_waiting(most_rows)
        if chunk is not None:
            self._length -= len(chunk[1])
        return chunk

    def discard(self, owner: Owner) -> int:
        """Drop all rows of `owner`; how many there were."""
        dropped = sum(len(owners.pop(owner, ())) for owners in self._buckets.values())
        for bucket_width in [width for width, owners in self._buckets.items() if not owners]:
            del self._buckets[bucket_width]
        dropped += self._discard_returned(owner)
        self._length -= dropped
        return dropped

    def _take_waiting(self, most_rows: Callable[[int], int]) -> tuple[int, OwnedRows[Owner, Row]] | None:
        if not self._buckets:
            return None
        bucket_width, owners = self._buckets.popitem(last=False)
        rows = _take_in_turns(owners, most_rows(bucket_width))
        if owners:
            self._buckets[bucket_width] = owners
        return bucket_width, rows

    def _take_returned(self, most_rows: Callable[[int], int]) -> tuple[int, OwnedRows[Owner, Row]] | None:
        if not self._returned:
            return None
        returned = self._returned.popleft()
        count = min(returned.most, most_rows(returned.bucket_width))
        if rest := returned.rows[count:]:
            self._returned.appendleft(replace(returned, rows=rest))
        return returned.bucket_width, returned.rows[:count]

    def _discard_returned(self, owner: Owner) -> int:
        before = sum(len(returned.rows) for returned in self._returned)
        kept = (
            replace(returned, rows=[row for row in returned.rows if row[0] != owner]) for returned in self._returned
        )
        self._returned = deque(returned for returned in kept if returned.rows)
        return before - sum(len(returned.rows) for returned in self._returned)


def _take_in_turns(owners: OrderedDict[Owner, deque[Row]], most: int) -> OwnedRows[Owner, Row]:
    taken: OwnedRows[Owner, Row] = []
    while owners and len(taken) < most:
        owner, rows = owners.popitem(last=False)
        taken.append((owner, rows.popleft()))
        if rows:
            owners[owner] = rows
    return taken
