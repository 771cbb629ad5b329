import os
import time
from collections import Counter
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from tritonclient.grpc.service_pb2 import ModelInferRequest

from gateway.inference.messages import infer_request
from loadtest.accuracy.circumstances import Circumstances
from loadtest.stages.flame import draw, tree
from loadtest.stages.measure import EVENT_LOOP, Costs
from loadtest.stages.measured_pool import MeasuredPool
from loadtest.stages.pages import REFERENCE_SIZE, mixes, reference_page
from loadtest.stages.processor_time import of_process
from loadtest.stages.remembering import question
from loadtest.stages.report import describe


def test_without_a_corpus_the_drawn_page_is_measured_and_it_is_always_the_same(tmp_path):
    ((name, [page]),) = mixes(None).items()
    assert (name, page.data) == ("reference", reference_page().data)
    (tmp_path / "page.jpg").write_bytes(page.data)
    with Image.open(tmp_path / "page.jpg") as image:
        assert image.size == REFERENCE_SIZE


def test_the_time_of_a_process_counts_what_it_computes_and_not_what_it_waits():
    started = of_process(os.getpid())
    time.sleep(0.05)
    assert of_process(os.getpid()) - started < 0.05
    assert of_process(os.getpid()) == pytest.approx(time.process_time(), abs=0.01)


def test_a_question_is_the_same_whoever_asks_and_another_for_other_pixels():
    def ask(pixels, request_id):
        return question(infer_request("reader", {"crops": pixels}, ("text",), request_id).data)

    blank, inked = np.zeros((1, 4, 4, 3), np.uint8), np.ones((1, 4, 4, 3), np.uint8)
    assert ask(blank, "one") == ask(blank, "another")
    assert len({ask(blank, ""), ask(inked, ""), ask(blank.reshape(1, 2, 8, 3), "")}) == 3
    assert ModelInferRequest.FromString(infer_request("reader", {}, (), "").data).model_name == "reader"


async def test_the_pool_says_what_each_function_took():
    def compute():
        return sum(range(1_000_000))

    pool = MeasuredPool()
    assert await pool.run(compute) == sum(range(1_000_000))
    assert pool.take()["compute"] > 0
    assert pool.take() == {}
    pool.close()


def test_a_flame_graph_has_a_box_for_what_takes_long_as_wide_as_its_time():
    stacks = Counter({("gateway.a", "cv2.b"): 3.0, ("gateway.a",): 1.0, ("gateway.c",): 0.001})
    assert tree(stacks).children["gateway.a"].seconds == 4.0
    boxes = {
        group.find("{*}title").text: float(group.find("{*}rect").get("width"))
        for group in ET.fromstring(draw(stacks, pages=2)).iter("{http://www.w3.org/2000/svg}g")
    }
    assert list(boxes) == ["all: 2000.50 ms a page", "gateway.a: 2000.00 ms a page", "cv2.b: 1500.00 ms a page"]
    assert boxes["cv2.b: 1500.00 ms a page"] / boxes["all: 2000.50 ms a page"] == pytest.approx(0.75, abs=0.01)


def test_the_report_has_medians_with_quartiles_and_what_is_left_for_http():
    stages = {"decode": [4.0, 5.0, 6.0, 5.0], EVENT_LOOP: [10.0] * 4}
    costs = Costs(1, 50, 1.4, [20.0, 21.0, 22.0, 21.0], stages, {"decode": 3 << 20})
    text = describe(
        {"reference": costs}, Circumstances("make bench-stages", "2026-11-30", {"gateway": "1"}, "set", "m")
    )
    assert "| decode | 5.0 (4.2-5.8) |" in text
    assert "| HTTP, JSON, admission, metrics | 6.0 |" in text
    assert "| **everything outside Triton** | **21.0 (20.2-21.8)** |" in text
    assert "| decode | 3.0 |" in text
