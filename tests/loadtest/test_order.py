import json

import numpy as np
import pytest

from gateway.ocr.reading_order import reading_order
from loadtest.document import Markers, replace_generated
from loadtest.order.__main__ import DOCUMENT, READERS, write
from loadtest.order.figures import Kept, compare, kept, ranks, top_to_bottom, upright
from loadtest.order.layouts import LAYOUTS, Layout
from loadtest.order.picture import picture

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


def test_the_report_has_a_row_for_each_page_and_the_means_of_each_kind():
    first, second = Layout("images/a.png", "columns"), Layout("images/b.png", "columns")
    figures = {
        first: dict.fromkeys(READERS, Kept(10, 1.0, 0.9)),
        second: {**dict.fromkeys(READERS, Kept(20, 0.5, 0.5)), "gateway": Kept(30, 1.0, 1.0)},
    }
    pages, _, kinds = "\n".join(write(figures)).partition("\n\n")
    assert pages.splitlines()[2] == "| a | columns | 10 | 1.000 | 1.000 | 1.000 | 0.900 | 0.900 | 0.900 |"
    assert kinds.splitlines()[-1] == "| columns | 40 | 0.750 | 0.750 | 1.000 | 0.700 | 0.700 | 0.950 |"


def test_the_projects_document_has_the_markers():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "new" in replace_generated(text, "new", Markers.of("order"))


def test_a_picture_is_drawn_of_a_page_with_and_without_lines():
    image = np.full((100, 200, 3), 255, np.uint8)
    assert picture(image, np.zeros((0, 4, 2))).shape == (750, 1500, 3)
    assert (picture(image, np.array([square(10, 10), square(50, 50)])) != picture(image, np.zeros((0, 4, 2)))).any()
