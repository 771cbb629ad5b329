"""Calls that run out of memory, and lines that can't be read."""

import asyncio
import math
from collections import Counter
from itertools import chain, pairwise

import pytest
from fake_backend import (
    ANY_SHAPE,
    BUCKETS,
    FIXED_ROWS,
    FakeBackend,
    batcher_of,
    later,
    line,
    lines,
    marks_of,
    read_marks,
    sample,
    settle,
    start,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout, OcrError, OutOfMemory
from gateway.inference.row_limits import TRIAL_INTERVAL_S, RowLimits


def backend_of(memory, models=ANY_SHAPE, bucket=16):
    backend = FakeBackend(models)
    backend.memory = {bucket: memory}
    return backend


def sizes(backend):
    return [len(chunk) for chunk in backend.chunks]


@pytest.mark.parametrize(
    ("models", "memory", "sent"),
    [
        (ANY_SHAPE, 8, [8]),
        (ANY_SHAPE, 4, [8, 4, 4]),
        (ANY_SHAPE, 3, [8, 4, 2, 2, 2, 2]),
        (ANY_SHAPE, 1, [8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1]),
        (FIXED_ROWS, 7, [8, 4, 4]),
        (FIXED_ROWS, 3, [8, 4, 1, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
async def test_a_call_that_runs_out_of_memory_is_cut_down_until_it_fits(models, memory, sent):
    backend = backend_of(memory, models)
    async with batcher_of(backend) as batcher:
        assert read_marks(await batcher.read(lines(range(8)), deadline=later())) == list(range(8))
    assert sizes(backend) == sent


async def test_a_chunk_that_is_not_full_is_cut_to_at_most_half_of_what_was_sent():
    backend = backend_of(2)
    async with batcher_of(backend) as batcher:
        await batcher.read(lines(range(7)), deadline=later())
    assert sizes(backend) == [7, 2, 2, 2, 1]


async def test_the_next_chunks_of_the_bucket_are_as_small_as_those_that_fitted():
    backend = backend_of(4)
    async with batcher_of(backend) as batcher:
        await batcher.read(lines(range(8)), deadline=later())
        backend.chunks.clear()
        await batcher.read(lines(range(10)), deadline=later())
        await batcher.read(lines(range(4), width=32), deadline=later())
    assert sizes(backend) == [4, 4, 2, 4]


async def test_a_larger_chunk_is_tried_once_a_minute_and_kept_when_it_fits():
    now = 0.0
    backend = backend_of(4)
    async with batcher_of(backend, row_limits=RowLimits(clock=lambda: now)) as batcher:
        await batcher.read(lines(range(8)), deadline=later())
        for memory, sent in ((4, [8, 4, 4, 4, 4]), (8, [8, 8])):
            now += TRIAL_INTERVAL_S
            backend.memory = {16: memory}
            backend.chunks.clear()
            assert read_marks(await batcher.read(lines(range(16)), deadline=later())) == list(range(16))
            assert sizes(backend) == sent


async def test_rows_of_several_owners_are_cut_down_together_and_find_their_owners():
    backend = backend_of(2)
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0], width=64))
        await settle()
        tasks = [start(batcher, lines(range(10 * owner, 10 * owner + 3))) for owner in (1, 2)]
        await settle()
        backend.gate.set()
        answers = [read_marks(steps) for steps in await asyncio.gather(*tasks)]
        await busy
    assert answers == [[10, 11, 12], [20, 21, 22]]


async def test_rows_that_come_back_go_before_those_that_wait():
    backend = backend_of(4)
    async with batcher_of(backend) as batcher:
        await asyncio.gather(
            batcher.read(lines(range(8)), deadline=later()), batcher.read(lines(range(8, 16)), deadline=later())
        )
    first, *halves = map(marks_of, backend.chunks[:3])
    assert [*chain(*halves)] == first


async def test_a_line_that_does_not_fit_alone_fails_its_owner_and_no_other():
    backend = backend_of(0, bucket=64)
    async with batcher_of(backend) as batcher:
        failing = start(batcher, [line(1, 64), line(2)])
        well = start(batcher, lines([3]))
        with pytest.raises(OutOfMemory):
            await failing
        assert read_marks(await well) == [3]


async def test_models_without_a_smaller_row_count_give_up_at_the_smallest():
    models = tuple(model for model in FIXED_ROWS if model.rows in (4, 8))
    backend = backend_of(3, models)
    async with batcher_of(backend) as batcher:
        with pytest.raises(OutOfMemory):
            await batcher.read(lines(range(8)), deadline=later())
    assert sizes(backend) == [8, 4]


async def test_rows_of_an_owner_that_has_gone_are_not_sent_again():
    backend = backend_of(1)
    backend.gate.clear()
    async with batcher_of(backend, rows=4) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        gone, waiting = start(batcher, lines([1, 2])), start(batcher, lines([3, 4]))
        await settle()
        busy.cancel()
        await settle()
        gone.cancel()
        await settle()
        backend.gate.set()
        assert read_marks(await waiting) == [3, 4]
    assert [marks_of(chunk) for chunk in backend.chunks[1:]] == [[1, 3, 2, 4], [3, 4], [3], [4]]


async def test_nothing_is_sent_again_after_its_deadline():
    backend = backend_of(1)
    backend.delays = iter([0, 10_000_000])
    dropped = sample("ocr_batcher_dropped_rows_total")
    async with batcher_of(backend) as batcher:
        with pytest.raises(InferenceTimeout, match="4 of 4"):
            await batcher.read(lines(range(4)), deadline=Deadline.after(0.05))
    assert sizes(backend) == [4, 2]
    assert sample("ocr_batcher_dropped_rows_total") == dropped + 2


async def test_each_call_has_what_is_left_of_the_time():
    backend = backend_of(1)
    async with batcher_of(backend, rows=4) as batcher:
        await batcher.read(lines(range(4)), deadline=Deadline.after(30))
    assert len(backend.timeouts) == 6
    assert all(0 < later < sooner < 30 for sooner, later in pairwise(backend.timeouts))


async def test_splits_and_the_learnt_limit_are_shown():
    backend = backend_of(2, bucket=32)
    splits = sample("ocr_oom_splits_total", bucket="32")
    async with batcher_of(backend, rows=16) as batcher:
        await batcher.read(lines(range(8), width=32), deadline=later())
    assert sample("ocr_oom_splits_total", bucket="32") == splits + 2
    assert sample("ocr_row_limit", bucket="32") == 2


class TestPartly:
    """With `partial`, lines that can't be read do not keep the others back."""

    async def test_lines_that_do_not_fit_have_their_error_for_an_answer(self):
        backend = backend_of(0, bucket=64)
        async with batcher_of(backend) as batcher:
            answers = await batcher.read([line(1), line(2, 64), line(3)], deadline=later(), partial=True)
        assert read_marks([answers[0], answers[2]]) == [1, 3]
        assert isinstance(answers[1], OutOfMemory)

    async def test_a_failed_call_costs_its_lines_only(self):
        backend = FakeBackend()
        backend.failing = {5: InferenceFailed("the model failed")}
        async with batcher_of(backend, rows=4) as batcher:
            answers = await batcher.read(lines(range(12)), deadline=later(), partial=True)
        lost = [index for index, answer in enumerate(answers) if isinstance(answer, OcrError)]
        assert lost == [4, 5, 6, 7]

    async def test_a_server_that_is_away_fails_the_owner(self):
        backend = FakeBackend()
        backend.failing = {5: BackendUnavailable("away")}
        async with batcher_of(backend, rows=4) as batcher:
            with pytest.raises(BackendUnavailable):
                await batcher.read(lines(range(12)), deadline=later(), partial=True)

    async def test_an_owner_that_wants_all_or_nothing_is_failed_by_the_same_call(self):
        backend = FakeBackend()
        backend.failing = {1: InferenceFailed("the model failed")}
        backend.gate.clear()
        async with batcher_of(backend) as batcher:
            busy = start(batcher, lines([0]))
            await settle()
            whole, partly = start(batcher, lines([1])), start(batcher, lines([2]), partial=True)
            await settle()
            backend.gate.set()
            (answer,) = await partly
            with pytest.raises(InferenceFailed) as raised:
                await whole
            await busy
        assert isinstance(answer, InferenceFailed)
        assert answer is not raised.value


@settings(deadline=None, max_examples=60)
@given(
    owners=st.lists(st.lists(st.integers(1, BUCKETS[-1]), max_size=12), min_size=1, max_size=6),
    models=st.sampled_from([ANY_SHAPE, FIXED_ROWS]),
    memory=st.fixed_dictionaries({bucket: st.integers(1, 16) for bucket in BUCKETS}),
    calls=st.integers(1, 3),
    delays=st.lists(st.integers(0, 6), max_size=40),
)
def test_whatever_fits_into_memory_every_line_is_read_and_sent_at_most_1_plus_log2_times(
    owners, models, memory, calls, delays
):
    numbers = iter(range(1, 1000))
    marks = [[next(numbers) for _ in widths] for widths in owners]
    pages = [list(map(line, *page)) for page in zip(marks, owners, strict=True)]

    async def read_all():
        backend = FakeBackend(models)
        backend.memory, backend.delays = memory, iter(delays)
        async with batcher_of(backend, rows=16, calls=calls) as batcher:
            answers = await asyncio.gather(*(batcher.read(page, deadline=later()) for page in pages))
        return backend, answers

    backend, answers = asyncio.run(read_all())
    assert [read_marks(steps) for steps in answers] == marks
    first_sizes, times_sent = {}, Counter()
    for chunk in backend.chunks:
        for mark in marks_of(chunk):
            first_sizes.setdefault(mark, len(chunk))
            times_sent[mark] += 1
    assert all(times_sent[mark] <= 1 + math.log2(first_sizes[mark]) for mark in chain(*marks))
