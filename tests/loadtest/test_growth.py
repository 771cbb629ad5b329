import subprocess
import sys
from io import BytesIO
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from loadtest.gpu.http_client import Answer
from loadtest.growth.chart import Panel, chart
from loadtest.growth.clients import Lag
from loadtest.growth.drawn import SIDE, of_size, with_lines, with_words
from loadtest.growth.one_page import Cost, Memory, stages_of
from loadtest.growth.peaks import resident_bytes
from loadtest.growth.report import Growth, describe, growth_of, linearity, plots

MIB = 1 << 20


def cost(peak_mib=200, padded=2.0, seconds=1.0):
    return Cost(
        lines=10,
        megapixels=4.0,
        padded_megapixels=padded,
        gateway=Memory(150 * MIB, peak_mib * MIB),
        triton=Memory(400 * MIB, 800 * MIB),
        total_s=[2 * seconds, 3 * seconds],
        stages_s=[{"recognize": seconds, "detect": 1.0}],
    )


def size_of(page):
    with Image.open(BytesIO(page.data)) as image:
        return image.size


def test_pages_of_words_differ_in_nothing_but_the_words_and_are_always_the_same():
    one, many = with_words(1), with_words(2000)
    assert size_of(one) == size_of(many) == (SIDE, SIDE)
    assert with_words(1) == one
    assert (one.lines, many.lines) == (1, 2000)


def test_the_wide_line_is_one_more_on_the_same_page():
    without, with_one = with_lines(wide=False), with_lines(wide=True)
    assert (without.lines, with_one.lines, without.pixels) == (200, 201, with_one.pixels)


@pytest.mark.parametrize("megapixels", [0.1, 3.0])
def test_a_page_has_as_many_pixels_as_were_asked_for(megapixels):
    assert of_size(megapixels).pixels == pytest.approx(megapixels * 1e6, rel=0.01)


HOLDING_64_MIB = """
import os
from loadtest.growth.peaks import forget_peaks, peak_bytes, resident_bytes

own = [os.getpid()]
forget_peaks(own)
before = resident_bytes(own)
held = bytearray(64 << 20)
held[::4096] = bytes(range(256)) * (len(held) // 4096 // 256)
del held
print(peak_bytes(own) - before)
"""


def test_a_peak_is_what_a_process_held_since_it_was_last_forgotten():
    # In a process of its own: one that has run other tests has freed memory to use again.
    held = subprocess.run([sys.executable, "-c", HOLDING_64_MIB], check=True, capture_output=True, text=True).stdout
    assert int(held) > 60 * MIB
    assert resident_bytes([2**22 + 1]) == 0


def test_the_stages_of_an_answer_are_in_its_header():
    header = {"server-timing": "decode;dur=12.5, recognize;dur=2000.0"}
    assert stages_of(Answer(200, header, b"")) == {"decode": 0.0125, "recognize": 2.0}
    assert stages_of(Answer(200, {}, b"")) == {}


@pytest.mark.parametrize(("values", "expected"), [((), 0.0), ((200,), 0.0), ((200, 250, 210), 0.25)])
def test_growth_is_by_how_much_of_the_first_the_highest_is_more(values, expected):
    assert growth_of(values) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("points", "least", "most"),
    [([], 1, 1), ([(1, 3), (2, 5), (3, 7)], 0.999, 1.001), ([(1, 1), (2, 9), (3, 2), (4, 8)], 0, 0.5)],
)
def test_linearity_is_the_share_that_a_straight_line_explains(points, least, most):
    assert least <= linearity(points) <= most


def test_a_percentile_of_the_lag_is_the_edge_that_it_stays_below():
    lag = Lag(256, 64, answered=90, seconds=60, at_most={0.001: 50, 0.005: 80, 0.01: 98, 0.1: 100, float("inf"): 100})
    assert (lag.share(0.01), lag.percentile(0.5), lag.percentile(0.99)) == (0.98, 0.001, 0.1)


def test_the_report_says_what_grew_and_what_the_wide_line_cost():
    lag = Lag(256, 64, answered=90, seconds=60, at_most={0.01: 99, float("inf"): 100})
    growth = Growth(
        words={1: cost(), 10: cost(200), 2000: cost(210, padded=20, seconds=10)},
        sizes={0.1: cost(), 100.0: cost(900)},
        wide=(cost(), cost(seconds=1.04, padded=2.1)),
        lags={"stand-in": [lag]},
    )
    text = describe(growth)
    assert "grows by 5.0% in the gateway and 0.0% in Triton" in text
    assert "costs +4.0% of the page's time" in text
    assert "padded area is +5.0%" in text
    assert "| stand-in | 256 | 64 | 1.5 | 100 | 99.0% | ≤ 10 ms | ≤ 10 ms |" in text
    assert ET.fromstring(plots(growth)).tag.endswith("svg")


def test_what_was_not_measured_is_left_out():
    assert describe(Growth()) == ""


def test_a_panel_of_a_single_point_can_be_drawn():
    assert "nan" not in chart([Panel("one & only", {"a": [(3, 0.0)]})])
