import asyncio

import pytest

from gateway.errors import InferenceTimeout
from gateway.metrics import StageTimes, outcome_counted


def test_without_stages_there_is_no_timing():
    assert StageTimes().server_timing() == ""


def test_stages_are_reported_in_the_order_they_were_first_met():
    times = StageTimes()
    for name in ("decode", "detect", "decode"):
        with times.stage(name):
            pass
    assert list(times.seconds) == ["decode", "detect"]
    assert times.server_timing().startswith("decode;dur=")


def test_an_error_carries_the_stage_it_came_out_of_first():
    times = StageTimes()
    with pytest.raises(InferenceTimeout) as raised, times.stage("detect"):
        raise InferenceTimeout("late")
    assert raised.value.stage == "detect"
    with pytest.raises(InferenceTimeout) as raised, times.stage("outer"):
        raise InferenceTimeout("late", stage="recognize")
    assert raised.value.stage == "recognize"


def test_a_call_that_ends_well_is_counted_once():
    counted = []
    with outcome_counted(counted.append):
        pass
    assert counted == ["ok"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (InferenceTimeout("late"), "inference_timeout"),
        (asyncio.CancelledError(), "cancelled"),
        (ZeroDivisionError(), "internal"),
    ],
)
def test_a_call_that_ends_badly_is_counted_once_by_its_error_which_passes_through(error, outcome):
    counted = []
    with pytest.raises(type(error)) as raised, outcome_counted(counted.append):
        raise error
    assert counted == [outcome]
    assert raised.value is error
