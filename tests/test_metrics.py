import pytest

from gateway.errors import InferenceTimeout
from gateway.metrics import StageTimes


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
