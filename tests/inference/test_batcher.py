import asyncio
import time
from contextvars import ContextVar
from dataclasses import replace

import numpy as np
import pytest
from fake_backend import (
    ANY_SHAPE,
    BUCKETS,
    FIXED_ROWS,
    LINE_HEIGHT,
    FakeBackend,
    batcher_of,
    later,
    line,
    lines,
    marks_of,
    read_marks,
    rows_of_pixels,
    sample,
    settle,
    soon,
    start,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.deadline import Deadline
from gateway.errors import BackendUnavailable, Draining, InferenceFailed, InferenceTimeout
from gateway.inference.batcher import BatchLimits
from gateway.metrics import Sent


async def test_no_lines_need_no_call():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        assert await batcher.read([], deadline=later()) == []
    assert backend.chunks == []


async def test_lines_come_back_in_their_order():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        crops = [line(mark, width) for mark, width in enumerate([64, 5, 30, 16, 40, 1])]
        assert read_marks(await batcher.read(crops, deadline=later())) == [0, 1, 2, 3, 4, 5]


async def test_a_request_is_told_in_how_many_calls_its_lines_were_sent():
    one, other = Sent(), Sent()
    async with batcher_of(FakeBackend(), rows=4, calls=1) as batcher:
        await batcher.read(lines(range(9)), deadline=later(), sent=one)
        await batcher.read(lines([1]), deadline=later(), sent=other)
    assert (one.chunks, other.chunks) == (3, 1)


async def test_steps_cover_the_whole_bucket():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        short, wide = await batcher.read([line(1, 5), line(2, 40)], deadline=later())
    assert (len(short.class_index), len(wide.class_index)) == (2, 8)


async def test_lines_are_padded_to_their_bucket():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        await batcher.read([line(1, 5), line(2, 40)], deadline=later())
    assert [chunk.shape for chunk in backend.chunks] == [(1, LINE_HEIGHT, 16, 3), (1, LINE_HEIGHT, 64, 3)]


async def test_rows_added_for_a_model_of_fixed_rows_are_not_answered():
    backend = FakeBackend(FIXED_ROWS)
    async with batcher_of(backend) as batcher:
        assert read_marks(await batcher.read(lines([1, 2]), deadline=later())) == [1, 2]
    assert [len(chunk) for chunk in backend.chunks] == [4]


async def test_a_chunk_with_its_added_rows_stays_within_its_pixels():
    backend = FakeBackend(FIXED_ROWS)
    async with batcher_of(backend, rows=7) as batcher:
        await batcher.read(lines(range(10)), deadline=later())
    assert [len(chunk) for chunk in backend.chunks] == [4, 4, 4]


async def test_a_line_above_the_limit_travels_alone():
    backend = FakeBackend()
    async with batcher_of(backend, rows=1) as batcher:
        await batcher.read(lines([1, 2], width=64), deadline=later())
    assert [chunk.shape[0] for chunk in backend.chunks] == [1, 1]


async def test_a_line_that_fits_no_bucket_is_refused_before_anything_is_sent():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        with pytest.raises(ValueError, match="8x65 pixels does not fit"):
            await batcher.read([line(1), line(2, 65)], deadline=later())
    assert backend.chunks == []


async def test_an_idle_batcher_sends_at_once():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        task = start(batcher, lines([1]))
        await asyncio.sleep(0)  # read() runs up to its wait
        await asyncio.sleep(0)  # and its call starts
        assert len(backend.chunks) == 1
        await task


async def test_all_lines_of_a_read_are_queued_before_the_first_is_sent():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        await batcher.read(lines(range(8)), deadline=later())
    assert [len(chunk) for chunk in backend.chunks] == [8]


async def test_calls_in_flight_are_bounded():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend, rows=1, calls=3) as batcher:
        page = start(batcher, lines(range(10)))
        await settle()
        assert backend.in_flight == 3
        backend.gate.set()
        await page
    assert backend.most_in_flight == 3


@pytest.mark.parametrize(("servers", "calls"), [(0, 2), (1, 2), (3, 6)])
async def test_the_bound_counts_for_each_server_and_for_one_while_none_is_there(servers, calls):
    backend = FakeBackend()
    backend.servers = servers
    backend.gate.clear()
    async with batcher_of(backend, rows=1, calls=2) as batcher:
        page = start(batcher, lines(range(10)))
        await settle()
        assert backend.in_flight == calls
        backend.gate.set()
        await page


async def test_rows_gather_while_the_calls_are_under_way():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        tasks = [start(batcher, lines([mark])) for mark in range(6)]
        await settle()
        backend.gate.set()
        await asyncio.gather(*tasks)
    assert [marks_of(chunk) for chunk in backend.chunks] == [[0], [1, 2, 3, 4, 5]]


async def test_a_large_page_does_not_hold_up_a_single_line():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend, rows=4) as batcher:
        page = start(batcher, lines(range(1000)))
        await settle()
        single = start(batcher, lines([5000]))
        await settle()
        backend.gate.set()
        await single
        assert not page.done()
        assert 5000 in marks_of(backend.chunks[1])
        await page


async def test_a_full_bucket_does_not_hold_up_another():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend, rows=4) as batcher:
        page = start(batcher, lines(range(100)))
        wide = start(batcher, lines([500], width=64))
        await settle()
        backend.gate.set()
        await asyncio.gather(page, wide)
    assert [500] in [marks_of(chunk) for chunk in backend.chunks[:3]]


async def test_answers_find_their_owners_whatever_order_calls_end_in():
    backend = FakeBackend()
    backend.delays = iter([9, 1, 7, 3, 5, 2, 8, 4, 6, 0])
    async with batcher_of(backend, rows=2, calls=3) as batcher:
        tasks = [start(batcher, lines(range(100 * owner, 100 * owner + 5))) for owner in range(4)]
        answers = [read_marks(steps) for steps in await asyncio.gather(*tasks)]
    assert answers == [list(range(100 * owner, 100 * owner + 5)) for owner in range(4)]


async def test_a_chunk_has_the_time_of_its_most_patient_owner():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        first = start(batcher, lines([0]), Deadline.after(7))
        await settle()
        tasks = [start(batcher, lines([mark]), Deadline.after(10 * mark)) for mark in (1, 3, 2)]
        await settle()
        backend.gate.set()
        await asyncio.gather(first, *tasks)
    assert [round(timeout_s) for timeout_s in backend.timeouts] == [7, 30]


async def test_an_owner_out_of_time_gets_an_error_that_says_how_far_it_came():
    backend = FakeBackend()
    async with batcher_of(backend, rows=2) as batcher:
        backend.delays = iter([0, 10_000_000])
        with pytest.raises(InferenceTimeout, match=r"3 of 5 lines were still unread after 0\.\d s"):
            await batcher.read(lines(range(5)), deadline=soon())


async def test_a_deadline_that_has_passed_sends_nothing():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        with pytest.raises(InferenceTimeout, match="1 of 1 lines were still unread"):
            await batcher.read(lines([1]), deadline=Deadline.after(0))
    assert backend.chunks == []


async def test_an_impatient_owner_leaves_the_others_alone():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        impatient, patient = start(batcher, lines([1]), soon()), start(batcher, lines([2]))
        with pytest.raises(InferenceTimeout):
            await impatient
        backend.gate.set()
        assert read_marks(await patient) == [2]
        await busy


async def test_rows_of_an_owner_that_has_gone_are_dropped_and_counted():
    backend = FakeBackend()
    backend.gate.clear()
    dropped = sample("ocr_batcher_dropped_rows_total")
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        gone = start(batcher, lines([1, 2, 3]))
        await settle()
        assert sample("ocr_batcher_queued_rows") == 3
        gone.cancel()
        await asyncio.wait([gone])
        assert gone.cancelled()
        assert sample("ocr_batcher_queued_rows") == 0
        backend.gate.set()
        await busy
    assert [marks_of(chunk) for chunk in backend.chunks] == [[0]]
    assert sample("ocr_batcher_dropped_rows_total") == dropped + 3


async def test_rows_out_of_time_are_not_sent_even_if_the_event_loop_is_late():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        late, patient = start(batcher, lines([1]), Deadline.after(0.01)), start(batcher, lines([2]))
        await settle()
        time.sleep(0.02)  # noqa: ASYNC251 - the loop is blocked on purpose
        backend.gate.set()
        await asyncio.gather(busy, patient)
        with pytest.raises(InferenceTimeout):
            await late
    assert [marks_of(chunk) for chunk in backend.chunks] == [[0], [2]]


async def test_a_call_whose_time_passes_before_it_starts_is_not_made():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        late = start(batcher, lines([1]), Deadline.after(0.01))
        await asyncio.sleep(0)  # read() has decided on the call, which starts in the loop's next round
        time.sleep(0.02)  # noqa: ASYNC251 - the loop is blocked on purpose
        with pytest.raises(InferenceTimeout):
            await late
    assert backend.chunks == []


async def test_a_call_that_nobody_waits_for_is_cancelled_and_its_slot_is_freed():
    backend = FakeBackend()
    backend.gate.clear()
    cancelled = sample("ocr_backend_calls_cancelled_total")
    async with batcher_of(backend) as batcher:
        gone = start(batcher, lines([1]))
        await settle()
        waiting = start(batcher, lines([2]))
        gone.cancel()
        await settle()
        assert backend.cancelled == 1
        assert marks_of(backend.chunks[1]) == [2]
        backend.gate.set()
        await waiting
    assert sample("ocr_backend_calls_cancelled_total") == cancelled + 1


async def test_a_call_that_somebody_still_waits_for_goes_on():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        gone, waiting = start(batcher, lines([1])), start(batcher, lines([2]))
        await settle()
        busy.cancel()
        await settle()
        assert marks_of(backend.chunks[1]) == [1, 2]
        gone.cancel()
        await settle()
        backend.gate.set()
        assert read_marks(await waiting) == [2]
    assert backend.cancelled == 1


async def test_a_failed_call_fails_each_owner_with_a_copy_of_its_own_and_the_same_cause():
    backend = FakeBackend()
    cause = RuntimeError("CUDA error")
    error = InferenceFailed("the model failed")
    error.__cause__ = cause
    backend.failing = {1: error}
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy = start(batcher, lines([0]))
        await settle()
        owners = [start(batcher, lines([mark])) for mark in (1, 2)]
        await settle()
        backend.gate.set()
        first, second = await asyncio.gather(*owners, return_exceptions=True)
        await busy
    assert [type(first), type(second)] == [InferenceFailed, InferenceFailed]
    assert first.detail == second.detail == "the model failed"
    assert first.__cause__ is second.__cause__ is cause
    first.stage = "reread"
    assert second.stage is None


async def test_a_failed_call_leaves_other_calls_alone():
    backend = FakeBackend()
    backend.failing = {1: InferenceFailed("the model failed")}
    async with batcher_of(backend, calls=2) as batcher:
        failing, well = start(batcher, lines([1])), start(batcher, lines([2], width=64))
        assert read_marks(await well) == [2]
        with pytest.raises(InferenceFailed):
            await failing


async def test_a_failed_owner_sends_no_more_rows():
    backend = FakeBackend()
    backend.failing = {0: InferenceFailed("the model failed")}
    async with batcher_of(backend, rows=1) as batcher:
        with pytest.raises(InferenceFailed):
            await batcher.read(lines(range(5)), deadline=later())
    assert len(backend.chunks) == 1


async def test_a_failure_that_is_none_of_ours_reaches_its_owners_too():
    backend = FakeBackend()
    backend.failing = {0: ZeroDivisionError("a bug")}
    async with batcher_of(backend) as batcher:
        with pytest.raises(ZeroDivisionError):
            await batcher.read(lines([0]), deadline=later())


async def test_an_answer_with_too_few_rows_fails_its_owners():
    backend = FakeBackend()
    answer = backend._answer
    backend._answer = lambda rows: answer(rows[:1])
    async with batcher_of(backend) as batcher:
        with pytest.raises(IndexError):
            await batcher.read(lines([0, 1]), deadline=later())


async def test_a_call_cancelled_from_outside_does_not_leave_its_owners_waiting():
    backend = FakeBackend()
    backend.failing = {0: asyncio.CancelledError()}
    async with batcher_of(backend) as batcher:
        with pytest.raises(BackendUnavailable, match="was cancelled"):
            await batcher.read(lines([0]), deadline=later())


async def test_lines_of_a_bucket_that_is_served_no_more_fail_and_leave_others_alone():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend) as batcher:
        busy, left, well = (start(batcher, lines([mark], width)) for mark, width in ((0, 16), (1, 64), (2, 16)))
        await settle()
        backend.contract = replace(
            backend.contract, recognition=replace(backend.contract.recognition, buckets=BUCKETS[:2])
        )
        backend.gate.set()
        with pytest.raises(BackendUnavailable, match="exchanged"):
            await left
        assert read_marks(await well) == [2]
        await busy


async def test_no_failure_but_want_of_memory_is_tried_again():
    backend = FakeBackend()
    backend.failing = {mark: InferenceFailed("the model failed") for mark in range(32)}
    async with batcher_of(backend, rows=4) as batcher:
        answers = await batcher.read(lines(range(32)), deadline=later(), partial=True)
    assert [type(answer) for answer in answers] == [InferenceFailed] * 32
    assert [len(chunk) for chunk in backend.chunks] == [4] * 8


async def test_closing_fails_what_waits_and_ends_what_is_under_way():
    backend = FakeBackend()
    backend.gate.clear()
    async with batcher_of(backend, rows=1) as batcher:
        tasks = [start(batcher, lines([mark])) for mark in range(3)]
        await settle()
        await batcher.close()
        assert backend.in_flight == 0
        errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in errors] == [Draining] * 3
    assert len(backend.chunks) == 1


async def test_a_closed_batcher_takes_nothing():
    backend = FakeBackend()
    async with batcher_of(backend) as batcher:
        await batcher.close()
        with pytest.raises(Draining):
            await batcher.read(lines([1]), deadline=later())


async def test_a_call_does_not_run_in_the_context_of_a_single_request():
    backend = FakeBackend()
    names = []
    wait = backend._wait
    request_id = ContextVar("request_id", default=None)

    async def spy():
        names.append(request_id.get())
        await wait()

    backend._wait = spy
    async with batcher_of(backend) as batcher:
        request_id.set("one of many")
        await batcher.read(lines([1]), deadline=later())
    assert names == [None]


async def test_chunks_and_their_waste_are_counted():
    backend = FakeBackend(FIXED_ROWS)
    names = ("ocr_chunk_rows_sum", "ocr_line_pixels_total", "ocr_padded_pixels_total", "ocr_batcher_wait_seconds_count")
    before = [sample(name) for name in names]
    chunks = sample("ocr_chunks_total", bucket="32")
    async with batcher_of(backend) as batcher:
        await batcher.read(lines([1, 2], width=20), deadline=later())
    assert [sample(name) - was for name, was in zip(names, before, strict=True)] == [
        2,
        2 * 20 * LINE_HEIGHT,
        4 * 32 * LINE_HEIGHT,
        2,
    ]
    assert sample("ocr_chunks_total", bucket="32") == chunks + 1


GREY = marks_of(np.full((1, 1, 1, 3), 128, np.uint8))[0]
OWNERS = st.lists(st.lists(st.integers(1, BUCKETS[-1]), max_size=12), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(
    owners=OWNERS,
    models=st.sampled_from([ANY_SHAPE, FIXED_ROWS]),
    rows=st.integers(1, 12),
    calls=st.integers(1, 4),
    delays=st.lists(st.integers(0, 6), max_size=40),
)
def test_each_line_is_in_exactly_one_chunk_and_comes_back_to_its_owner(owners, models, rows, calls, delays):
    count = sum(len(widths) for widths in owners)
    numbers = iter(range(1, count + 1))
    marks = [[next(numbers) for _ in widths] for widths in owners]
    pages = [list(map(line, *page)) for page in zip(marks, owners, strict=True)]

    async def read_all():
        backend = FakeBackend(models)
        backend.delays = iter(delays)
        async with batcher_of(backend, rows=rows, calls=calls) as batcher:
            answers = await asyncio.gather(*(batcher.read(page, deadline=later()) for page in pages))
        return backend, answers

    backend, answers = asyncio.run(read_all())
    sent = [mark for chunk in backend.chunks for mark in marks_of(chunk) if mark != GREY]
    assert sorted(sent) == list(range(1, count + 1))
    assert [read_marks(steps) for steps in answers] == marks
    for chunk in backend.chunks:
        assert len(chunk) == 1 or chunk.size // 3 <= rows_of_pixels(rows)
    assert backend.most_in_flight <= calls


@settings(deadline=None, max_examples=40)
@given(
    owners=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 30)), min_size=1, max_size=6),
    delays=st.lists(st.integers(0, 10), max_size=40),
    failing=st.sets(st.integers(0, 60), max_size=3),
)
def test_owners_that_leave_or_fail_at_any_moment_leave_nothing_behind(owners, delays, failing):
    async def impatient_read(batcher, marks, patience):
        task = start(batcher, lines(marks))
        for _ in range(patience):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task, marks

    async def run():
        backend = FakeBackend()
        backend.delays = iter(delays)
        backend.failing = {mark: InferenceFailed("the model failed") for mark in failing}
        async with batcher_of(backend, rows=3, calls=2) as batcher:
            reads = [
                impatient_read(batcher, range(10 * place, 10 * place + count), patience)
                for place, (count, patience) in enumerate(owners)
            ]
            return await asyncio.gather(*reads)

    for task, marks in asyncio.run(run()):
        if not task.cancelled() and not task.exception():
            assert read_marks(task.result()) == list(marks)


def test_the_default_limits_are_a_full_chunk_of_the_common_bucket():
    assert BatchLimits() == BatchLimits(max_chunk_pixels=491_520, calls_in_flight=2)


async def test_a_chunk_asks_for_alternatives_if_one_of_its_lines_wants_them():
    backend = FakeBackend()
    async with batcher_of(backend, rows=2) as batcher:
        backend.gate.clear()
        plain = start(batcher, lines([1]))
        await settle()
        mixed = [
            start(batcher, lines([2])),
            asyncio.create_task(batcher.read(lines([3]), deadline=later(), alternatives=True)),
        ]
        after = start(batcher, lines([4]))
        await settle()
        backend.gate.set()
        assert [read_marks(await one) for one in (plain, *mixed, after)] == [[1], [2], [3], [4]]
    assert [marks_of(chunk) for chunk in backend.chunks] == [[1], [2, 3], [4]]
    assert backend.alternatives == [False, True, False]
