import numpy as np
import pytest

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.differences import Difference
from loadtest.accuracy.readings import Line, Reading
from loadtest.accuracy.scoring import FIGURES
from loadtest.variants.quantized import MOST_CALLS, Calls
from loadtest.variants.report import Measured, measured, report

QUAD = ((0.0, 0.0), (9.0, 0.0), (9.0, 5.0), (0.0, 5.0))


def reading(seconds: float, text: str) -> Reading:
    return Reading(seconds=seconds, lines=(Line(quad=QUAD, text=text, score=1.0),))


def variant(loss: float, *, speed: float = 1.5, failed: int = 0) -> Measured:
    return Measured("v", {"char_recall": Difference(0.98, 0.98 - loss, 0.0, 0.0)}, speed, speed, 1, failed)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (variant(0.0), "passes"),
        (variant(0.0019), "passes"),
        (variant(0.0021), "**refused**"),
        (variant(-0.1), "passes"),
        (variant(0.0, failed=1), "**refused**"),
        (variant(0.0, speed=0.9), "passes, but is slower"),
    ],
)
def test_a_variant_may_lose_a_fifth_of_a_point_and_no_page(one: Measured, verdict: str):
    assert one.verdict == verdict


def test_a_variant_is_held_against_the_baseline_page_by_page():
    counts = np.ones((2, len(FIGURES), 2))
    worse = counts.copy()
    worse[0, :, 0] = 0.5

    one = measured(
        "v",
        {"a": reading(3.0, "x"), "b": reading(1.0, "y")},
        {"a": reading(1.0, "x"), "b": reading(1.0, "z")},
        counts,
        worse,
    )

    assert (one.speed, one.median_speed, one.texts_changed) == (2.0, 2.0, 1)
    assert [difference.value for difference in one.differences.values()] == [-0.25] * len(FIGURES)
    circumstances = Circumstances("make bench-variants", "2026-12-01", {}, "small", "2 cores")
    assert "| v | 2.00 | 2.00 | 1 of 2 | -0.2500 |" in report([one], circumstances, 2)


def test_a_model_is_calibrated_with_calls_from_everywhere():
    feeds = [{"x": np.array([number])} for number in range(2 * MOST_CALLS)]
    calls = Calls(feeds)
    assert [int(feed["x"][0]) for feed in iter(calls.get_next, None)] == list(range(0, 2 * MOST_CALLS, 2))
