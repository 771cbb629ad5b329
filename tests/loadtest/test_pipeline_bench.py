from xml.etree import ElementTree as ET

import cv2
import numpy as np

from loadtest.pipeline.page import padded_to_the_widest, read
from loadtest.pipeline.reading import Lines, Rates, Single, rates
from loadtest.pipeline.report import Compared, Failure, describe, percentile, plot, shortened


class Scripted:
    """A side that answers at once and notes what it was asked."""

    def __init__(self, *texts):
        self._texts = texts
        self.asked = []

    async def read(self, page):
        self.asked.append(page)
        return Lines(self._texts, "" if self._texts else "no memory")


def test_all_lines_are_as_wide_as_the_widest():
    crops = [np.zeros((48, width, 3), np.uint8) for width in (10, 300, 20)]
    rows = padded_to_the_widest(crops)
    assert rows.shape == (3, 48, 300, 3)
    assert [int((row == 128).sum()) for row in rows] == [48 * 3 * (300 - width) for width in (10, 300, 20)]


def test_a_page_is_read_with_one_detection_and_one_batch():
    page = np.full((800, 800, 3), 255, np.uint8)
    asked = []

    def detect(tensor):
        found = np.zeros(tensor.shape[:2], np.uint8)
        found[100:120, 100:300] = found[300:320, 100:700] = 255
        return found

    def recognize(rows):
        asked.append(rows.shape)
        steps = np.zeros((len(rows), rows.shape[2] // 8), np.int32)
        steps[:, 0] = 1
        return steps, np.ones(steps.shape, np.float32), np.zeros(steps.shape, np.float32)

    lines = read(cv2.imencode(".png", page)[1].tobytes(), detect, recognize, ("", "a"))
    assert lines == [("a", 1.0), ("a", 1.0)]
    assert [shape[0] for shape in asked] == [2]


async def test_both_sides_read_the_same_pages_equally_often():
    both = {"pipeline": Scripted("a"), "gateway": Scripted("a")}
    found = await rates(both, [b"1", b"2"], [1, 4], rounds=2, count=3)
    assert both["pipeline"].asked == both["gateway"].asked
    assert len(both["pipeline"].asked) == 2 * (3 + 4)
    assert [len(one.latencies_s) for one in found[4].values()] == [8, 8]


async def test_pages_that_are_lost_under_load_are_counted_and_not_as_pages():
    found = await rates({"pipeline": Scripted()}, [b"1"], [1], rounds=1, count=2)
    assert found[1]["pipeline"] == Rates([0.0], [], ["no memory", "no memory"])


def single(side, seconds, lines, told=""):
    return Single("200 lines", side, seconds, 800 << 20, Lines(("a",) * lines, told))


def test_the_report_sets_both_sides_beside_each_other():
    slow, fast = Rates([1.0, 1.2, 1.1], [1.0, 2.0]), Rates([2.2, 2.2, 2.2], [0.5, 1.0])
    lost = {"pipeline": single("pipeline", 3, 0, "INTERNAL: no\nmemory | at all"), "gateway": single("gateway", 2, 200)}
    pages = [*(single(side, 1, 200) for side in lost), *lost.values()]
    compared = Compared({8: {"pipeline": slow, "gateway": fast}}, pages, [Failure("memory", lost)])
    text = describe(compared)
    assert "| 8 | gateway | 2.20 (2.20-2.20) | 0.75 | 0.97 | 0 | 2.00 | 0.50 |" in text
    assert "| memory | pipeline | 0 | 3.0 | INTERNAL: no memory / at all |" in text
    assert "200 of 200 through the pipeline, 0 of 200 through the gateway" in text
    assert ET.fromstring(plot(compared)).tag.endswith("svg")


def test_long_answers_are_shortened():
    assert len(shortened("x" * 500)) == 160


def test_a_percentile_of_one_value_is_that_value():
    assert percentile([3.0], 95) == 3.0
