import json

import numpy as np
import pytest

from gateway.ocr.reading_order import reading_order
from loadtest.order.figures import compare, kept, ranks, top_to_bottom, upright
from loadtest.order.layouts import LAYOUTS

FLOORS = {
    "images/enpdf_fedreg_p2.jpg": (0.999, 0.99),
    "images/enpdf_docling_widetable.jpg": (0.97, 0.85),
    "images/enpdf_docling_pg9.jpg": (0.99, 0.90),
    "images/zhpdf_debref_p32_table.jpg": (0.99, 0.90),
    "images/enpdf_senate.jpg": (0.99, 0.90),
    "images/derived_zhpdf_zhlipsum_p1_ccw180.jpg": (1.0, 1.0),
}
"""Of tau and of neighbours, on the labels' quads."""


def square(x, y):
    return [[x, y], [x + 0.1, y], [x + 0.1, y + 0.1], [x, y + 0.1]]


@pytest.mark.parametrize(
    ("places", "tau", "neighbours"),
    [([], 1, 1), ([0], 1, 1), ([0, 1, 2], 1, 1), ([2, 1, 0], -1, 0), ([1, 0, 2], 1 / 3, 0), ([0, 2, 1, 3], 2 / 3, 0)],
)
def test_an_order_is_judged_by_all_pairs_and_by_neighbours(places, tau, neighbours):
    figures = compare(places)
    assert (figures.tau, figures.neighbours) == (pytest.approx(tau), neighbours)


def test_lines_are_ranked_by_block_then_row_then_from_the_left():
    quads = np.array([square(0.6, 0.1), square(0.3, 0.5), square(0.1, 0.51), square(0.1, 0.1), square(0.1, 0.9)])
    assert ranks(quads, [(0, 0, 0.5, 0.8), (0.5, 0, 1, 0.8)]) == [3, 2, 1, 0]


def test_a_page_is_judged_as_it_stands_upright():
    quads = np.array([square(0.1, 0.7)])
    assert np.allclose(upright(quads, (100, 200), 0) * (200, 100), quads)
    corner = upright(np.array([[[0, 100], [0, 100], [0, 100], [0, 100]]], np.float64), (100, 200), 90)
    assert corner[0, 0].tolist() == [0, 0]


def test_a_plain_sort_goes_down_then_right():
    quads = np.array([square(0.5, 0.1), square(0.1, 0.5), square(0.1, 0.1)])
    assert top_to_bottom(quads).tolist() == quads[[2, 0, 1]].tolist()


@pytest.mark.corpus
@pytest.mark.parametrize("layout", [one for one in LAYOUTS if one.file in FLOORS], ids=lambda one: one.file)
def test_labelled_pages_are_read_in_the_order_in_which_a_person_reads_them(corpus, layout):
    records = map(json.loads, (corpus / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    page = next(record for record in records if record["file"] == layout.file)
    quads = np.array([line["quad"] for line in page["lines"]], np.float64)
    order = reading_order(list(quads.astype(np.float32)), layout.turned)
    figures = kept(quads[order], (page["height"], page["width"]), layout)
    tau, neighbours = FLOORS[layout.file]
    assert figures.tau >= tau
    assert figures.neighbours >= neighbours
