import pytest
from capacity_examples import reading, used

from loadtest.capacity.usage import Place, first_full, usage


def test_shares_are_of_what_there_is():
    shares = used(1.4).shares
    assert shares["processors"] == pytest.approx(0.7)
    assert shares["event loop"] == pytest.approx(0.002 / 0.05)
    assert (shares["threads"], shares["slots"]) == (0.0, 0.25)


def test_a_run_of_several_requests_counts_once_for_its_instance():
    assert used(1.4).shares["Triton's instances of reader"] == pytest.approx(0.4)


def test_what_nobody_known_has_taken_was_taken_by_others():
    cores = used(1.4).cores
    assert (cores["Triton"], cores["gateway"]) == pytest.approx((0.9, 0.4))
    assert cores["others"] == pytest.approx(0.1)


def test_waits_are_those_of_pages_and_calls():
    assert used(1.4).waits_ms == pytest.approx({"detection": 100.0, "recognition": 0.0, "Triton's queue": 2.0})


def test_elsewhere_only_the_metrics_are_known():
    readings = [reading(1.0, busy_cores=1.0), reading(3.0, busy_cores=1.0)]
    elsewhere = [type(one)(one.at, one.gateway, {}, {}) for one in readings]
    found = usage(elsewhere, Place(0, {}))
    assert found.cores == pytest.approx({"gateway": 0.3})
    assert set(found.shares) == {"event loop", "threads", "slots", "pixels under way"}


def test_a_step_without_two_readings_says_nothing():
    assert usage([reading(1.0, busy_cores=2.0)], Place(2, {})).fullest() is None


def test_what_is_full_first_is_the_fullest_of_the_first_step_that_has_any():
    assert first_full([used(1.4), used(1.9), used(2.0, jobs=3.0)]) == (1, "processors")
    assert first_full([used(1.4), used(1.9, jobs=3.0)]) == (1, "threads")
    assert first_full([used(1.4)]) is None
