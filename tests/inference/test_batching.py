from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.inference.batching import (
    PADDING,
    RowQueue,
    bucket_for,
    chunk_rows,
    pad_rows,
    row_steps,
    sent_rows,
    step_below,
)
from gateway.inference.contract import RecognitionContract, RecognitionModel

BUCKETS = (160, 320, 640)
ANY_SHAPE = RecognitionContract((RecognitionModel("recognition", "1"),), 48, BUCKETS, ("", "a"))
FIXED_ROWS = RecognitionContract(
    tuple(
        RecognitionModel(f"recognition_{bucket}_{rows}", "1", bucket, rows) for bucket in BUCKETS for rows in (1, 8, 32)
    ),
    48,
    BUCKETS,
    ("", "a"),
)


def crop(width, value=7, height=48):
    return np.full((height, width, 3), value, np.uint8)


@pytest.mark.parametrize(("width", "bucket"), [(1, 160), (160, 160), (161, 320), (320, 320), (640, 640)])
def test_a_line_goes_to_the_narrowest_bucket_that_holds_it(width, bucket):
    assert bucket_for(crop(width), ANY_SHAPE) == bucket


def test_a_line_wider_than_the_last_bucket_is_refused():
    with pytest.raises(ValueError, match=r"48x641 pixels does not fit; .* 48 pixels in height and up to 640"):
        bucket_for(crop(641), ANY_SHAPE)


def test_a_line_of_another_height_is_refused():
    with pytest.raises(ValueError, match="32x100"):
        bucket_for(crop(100, height=32), ANY_SHAPE)


@pytest.mark.parametrize(("lines", "rows"), [(1, 1), (2, 8), (8, 8), (9, 32), (32, 32)])
def test_rows_are_filled_up_to_the_number_that_the_model_takes(lines, rows):
    assert sent_rows(FIXED_ROWS, 320, lines) == rows
    assert sent_rows(ANY_SHAPE, 320, lines) == lines


@pytest.mark.parametrize(
    ("contract", "bucket", "rows_of_pixels", "lines"),
    [
        (ANY_SHAPE, 320, 0, 1),  # one line always goes
        (ANY_SHAPE, 320, 1, 1),
        (ANY_SHAPE, 320, 32, 32),
        (ANY_SHAPE, 640, 32, 32),
        (ANY_SHAPE, 320, 1000, 64),  # the model's own limit
        (FIXED_ROWS, 320, 0, 1),
        (FIXED_ROWS, 320, 7, 1),  # 2 to 7 would be sent as 8
        (FIXED_ROWS, 320, 31, 8),
        (FIXED_ROWS, 320, 1000, 32),
    ],
)
def test_a_chunk_has_as_many_lines_as_its_pixels_allow(contract, bucket, rows_of_pixels, lines):
    assert chunk_rows(contract, bucket, max_pixels=rows_of_pixels * 48 * bucket) == lines


@given(st.sampled_from([ANY_SHAPE, FIXED_ROWS]), st.sampled_from(BUCKETS), st.integers(0, 2_000_000))
def test_no_chunk_of_more_than_one_line_exceeds_its_pixels(contract, bucket, max_pixels):
    lines = chunk_rows(contract, bucket, max_pixels=max_pixels)
    assert lines == 1 or sent_rows(contract, bucket, lines) * 48 * bucket <= max_pixels


WITHOUT_ONE_ROW = RecognitionContract(
    tuple(RecognitionModel(f"recognition_{rows}", "1", 320, rows) for rows in (8, 12)), 48, (320,), ("", "a")
)


@pytest.mark.parametrize(
    ("contract", "bucket", "rows_of_pixels", "steps"),
    [
        (ANY_SHAPE, 160_000, 32, ()),  # not served
        (ANY_SHAPE, 320, 0, (1,)),
        (ANY_SHAPE, 320, 1, (1,)),
        (ANY_SHAPE, 320, 10, (1, 2, 5, 10)),
        (ANY_SHAPE, 320, 32, (1, 2, 4, 8, 16, 32)),
        (FIXED_ROWS, 320, 32, (1, 8, 32)),
        (FIXED_ROWS, 320, 31, (1, 8)),
        (FIXED_ROWS, 320, 7, (1,)),
        (WITHOUT_ONE_ROW, 320, 12, (8, 12)),
    ],
)
def test_a_chunk_can_be_cut_down_to_halves_or_to_the_row_counts_that_have_a_model(
    contract, bucket, rows_of_pixels, steps
):
    assert row_steps(contract, bucket, max_pixels=rows_of_pixels * 48 * bucket) == steps


@pytest.mark.parametrize(
    ("steps", "rows", "below"),
    [
        ((), 1, None),
        ((1,), 1, None),
        ((1, 2, 4, 8), 8, 4),
        ((1, 2, 4, 8), 7, 2),
        ((1, 2, 4, 8), 1, None),
        ((1, 8, 32), 32, 8),
        ((1, 8, 32), 8, 1),
        ((8, 12), 12, 8),
        ((8, 12), 8, None),
    ],
)
def test_a_chunk_that_was_too_large_is_cut_to_half_its_rows_or_to_the_next_count_that_there_is(steps, rows, below):
    assert step_below(steps, rows) == below


@given(st.sampled_from([ANY_SHAPE, FIXED_ROWS]), st.sampled_from(BUCKETS), st.integers(1, 64), st.integers(1, 64))
def test_a_chunk_is_cut_down_at_most_log2_of_its_rows_times(contract, bucket, full, lines):
    steps = row_steps(contract, bucket, max_pixels=full * 48 * bucket)
    first = rows = sent_rows(contract, bucket, min(lines, steps[-1]))
    attempts = 1
    while below := step_below(steps, rows):
        rows, attempts = below, attempts + 1
    assert attempts <= 1 + log2(first)


def test_lines_are_padded_with_grey_on_the_right():
    rows = pad_rows([crop(100), crop(160)], ANY_SHAPE, 160)
    assert rows.shape == (2, 48, 160, 3)
    assert (rows[0, :, :100] == 7).all()
    assert (rows[0, :, 100:] == PADDING).all()
    assert (rows[1] == 7).all()


def test_rows_without_a_line_are_grey():
    rows = pad_rows([crop(160), crop(160)], FIXED_ROWS, 160)
    assert rows.shape == (8, 48, 160, 3)
    assert (rows[2:] == PADDING).all()


def queue_of(*rows):
    queue = RowQueue()
    for bucket, owner, row in rows:
        queue.put(bucket, owner, row)
    return queue


def taken(queue, most=100):
    """All chunks of the queue, in order."""
    chunks = []
    while chunk := queue.take(lambda _: most):
        chunks.append(chunk)
    return chunks


def test_an_empty_queue_has_no_chunk():
    assert RowQueue().take(lambda _: 8) is None


def test_owners_take_turns_row_by_row():
    queue = queue_of(*[(320, "page", row) for row in range(4)], (320, "line", 0), (320, "other", 0))
    assert taken(queue) == [
        (
            320,
            [("page", 0), ("line", 0), ("other", 0), ("page", 1), ("page", 2), ("page", 3)],
        )
    ]


def test_turns_of_owners_go_on_in_the_next_chunk():
    queue = queue_of(*[(320, "a", row) for row in range(3)], *[(320, "b", row) for row in range(3)])
    assert taken(queue, most=3) == [
        (320, [("a", 0), ("b", 0), ("a", 1)]),
        (320, [("b", 1), ("a", 2), ("b", 2)]),
    ]


def test_buckets_take_turns_chunk_by_chunk():
    queue = queue_of(*[(320, "a", row) for row in range(3)], *[(640, "a", row) for row in range(2)])
    assert [(bucket, len(rows)) for bucket, rows in taken(queue, most=1)] == [
        (320, 1),
        (640, 1),
        (320, 1),
        (640, 1),
        (320, 1),
    ]


def test_each_bucket_has_its_own_limit():
    queue = queue_of(*[(bucket, "a", row) for bucket in (320, 640) for row in range(4)])
    limits = {320: 4, 640: 2}
    assert [len(queue.take(limits.__getitem__)[1]) for _ in range(3)] == [4, 2, 2]


def test_nothing_that_comes_back_is_nothing_that_waits():
    queue = RowQueue()
    queue.put_back(320, [], most=4)
    assert (len(queue), queue.take(lambda _: 8)) == (0, None)


def test_rows_that_come_back_go_first_and_in_smaller_chunks_of_their_own():
    queue = queue_of(*[(320, "a", row) for row in range(6)])
    bucket, rows = queue.take(lambda _: 5)
    queue.put(640, "b", 0)
    queue.put_back(bucket, rows, most=2)
    assert len(queue) == 7
    assert taken(queue) == [
        (320, [("a", 0), ("a", 1)]),
        (320, [("a", 2), ("a", 3)]),
        (320, [("a", 4)]),
        (320, [("a", 5)]),
        (640, [("b", 0)]),
    ]


def test_rows_that_come_back_keep_to_the_buckets_limit_where_that_is_lower():
    queue = RowQueue()
    queue.put_back(320, [("a", row) for row in range(4)], most=3)
    assert [len(rows) for _, rows in taken(queue, most=2)] == [2, 2]


def test_rows_that_come_back_twice_go_before_those_that_came_back_once():
    queue = RowQueue()
    queue.put_back(320, [("a", row) for row in range(8)], most=4)
    queue.put_back(320, queue.take(lambda _: 8)[1], most=2)
    assert [[row for _, row in rows] for _, rows in taken(queue)] == [[0, 1], [2, 3], [4, 5, 6, 7]]


def test_discarding_an_owner_drops_what_has_come_back_too():
    queue = queue_of((320, "a", 2))
    queue.put_back(640, [("a", 0)], most=1)
    queue.put_back(320, [("a", 1), ("b", 0)], most=1)
    assert queue.discard("a") == 3
    assert len(queue) == 1
    assert taken(queue) == [(320, [("b", 0)])]


def test_discarding_an_owner_drops_its_rows_in_every_bucket():
    queue = queue_of((320, "a", 0), (320, "b", 0), (640, "a", 1))
    assert queue.discard("a") == 2
    assert len(queue) == 1
    assert taken(queue) == [(320, [("b", 0)])]


def test_discarding_an_unknown_owner_drops_nothing():
    queue = queue_of((320, "a", 0))
    assert queue.discard("b") == 0
    assert len(queue) == 1


ROWS = st.lists(st.tuples(st.sampled_from(BUCKETS), st.integers(0, 4)), max_size=60)


@given(ROWS, st.integers(1, 8))
def test_each_row_is_taken_once_within_its_bucket_and_after_its_elders(rows, most):
    queue = queue_of(*[(bucket, owner, number) for number, (bucket, owner) in enumerate(rows)])
    chunks = taken(queue, most)
    out = [(bucket, owner, number) for bucket, chunk in chunks for owner, number in chunk]
    assert sorted(number for *_, number in out) == list(range(len(rows)))
    assert all(rows[number] == (bucket, owner) for bucket, owner, number in out)
    assert all(len(chunk) <= most for _, chunk in chunks)
    for bucket, owner in set(rows):
        numbers = [number for b, o, number in out if (b, o) == (bucket, owner)]
        assert numbers == sorted(numbers)
    assert len(queue) == 0


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 8))
def test_an_owner_never_gets_two_rows_ahead_of_another_that_waits(first, second, most):
    queue = queue_of(*[(320, "a", row) for row in range(first)], *[(320, "b", row) for row in range(second)])
    owners = [owner for _, chunk in taken(queue, most) for owner, _ in chunk]
    both_wait = owners[: 2 * min(first, second)]
    assert both_wait == ["a", "b"] * min(first, second)
