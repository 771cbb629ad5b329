import asyncio
import time

import pytest

from gateway.canary import KNOWN_PICTURE, KNOWN_TEXT, Canary
from gateway.errors import BackendUnavailable, InferenceFailed, InferenceTimeout


class Reader:
    """Reads whatever the test wants next: a text, or an error to raise."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.last_answer_at = 0.0

    async def read_text(self, data, timeout_s):
        assert data == KNOWN_PICTURE
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def canary_of(reader, interval_s=60.0):
    return Canary(reader.read_text, lambda: reader.last_answer_at, interval_s=interval_s, timeout_s=1.0)


async def test_before_the_first_reading_the_service_is_not_ready():
    canary = canary_of(Reader())
    assert not canary.ready
    assert "not been read yet" in canary.reason


async def test_the_right_text_makes_the_service_ready():
    canary = canary_of(Reader(KNOWN_TEXT))
    await canary.check()
    assert canary.ready
    assert canary.reason == ""


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("Unknown", "read as 'Unknown'"), (BackendUnavailable("refused"), "backend_unavailable: refused")],
)
async def test_a_wrong_text_or_an_error_says_why_it_is_not_ready(outcome, reason):
    canary = canary_of(Reader(KNOWN_TEXT, outcome))
    await canary.check()
    await canary.check()
    assert not canary.ready
    assert reason in canary.reason


async def test_a_bug_is_told_and_does_not_end_the_checks(caplog):
    reader = Reader(ZeroDivisionError("a bug"), *[KNOWN_TEXT] * 1000)
    canary = canary_of(reader, interval_s=0.01)
    checking = asyncio.create_task(canary.run())
    while not canary.ready:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.005)
    checking.cancel()
    [record] = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert isinstance(record.exc_info[1], ZeroDivisionError)


async def test_the_first_try_can_be_waited_for_but_not_for_ever():
    canary = canary_of(Reader(BackendUnavailable("down")))
    await canary.wait_tried(0.01)
    waiting = asyncio.create_task(canary.wait_tried(60))
    await canary.check()
    await waiting


async def test_a_late_reading_while_other_calls_are_answered_is_load_and_no_fault():
    reader = Reader(KNOWN_TEXT, InferenceTimeout("late"), InferenceTimeout("late"))
    canary = canary_of(reader)
    await canary.check()
    reader.last_answer_at = time.monotonic() + 1
    await canary.check()
    assert canary.ready
    reader.last_answer_at = 0.0
    await canary.check()
    assert not canary.ready


async def test_an_outage_of_the_backend_counts_at_once_and_its_end_too():
    outage = ""
    reader = Reader(KNOWN_TEXT)
    canary = Canary(reader.read_text, lambda: 0.0, lambda: outage, interval_s=60, timeout_s=1)
    await canary.check()
    assert canary.ready
    outage = "a:8001 silent: no sign of life"
    assert (canary.ready, canary.reason) == (False, outage)
    outage = ""
    assert canary.ready


async def test_a_reading_that_fails_in_an_outage_says_nothing_of_the_time_after_it():
    outage = ""
    reader = Reader(KNOWN_TEXT, BackendUnavailable("no server is there"))
    canary = Canary(reader.read_text, lambda: 0.0, lambda: outage, interval_s=60, timeout_s=1)
    await canary.check()
    outage = "a:8001 silent: no sign of life"
    await canary.check()
    outage = ""
    assert canary.ready


async def test_a_model_that_fails_is_no_load_however_many_other_calls_are_answered():
    reader = Reader(KNOWN_TEXT, InferenceFailed("broken"))
    canary = canary_of(reader)
    await canary.check()
    reader.last_answer_at = time.monotonic() + 1
    await canary.check()
    assert "inference_failed: broken" in canary.reason


async def test_a_reading_that_is_long_ago_does_not_count():
    canary = canary_of(Reader(KNOWN_TEXT), interval_s=-1.0)
    await canary.check()
    assert "has not been tried" in canary.reason


async def test_before_the_first_reading_there_is_no_outage():
    assert canary_of(Reader()).outage == ""


@pytest.mark.parametrize("outcome", ["Unknown", BackendUnavailable("refused")])
async def test_a_failed_reading_is_an_outage_until_one_goes_well(outcome):
    canary = canary_of(Reader(outcome, KNOWN_TEXT))
    await canary.check()
    assert canary.outage == canary.reason != ""
    await canary.check()
    assert canary.outage == ""


async def test_a_reading_that_is_late_is_no_outage(monkeypatch):
    canary = canary_of(Reader(KNOWN_TEXT))
    await canary.check()
    now = time.monotonic()
    monkeypatch.setattr("gateway.canary.time.monotonic", lambda: now + 1000)
    assert canary.reason
    assert canary.outage == ""
