from itertools import combinations

import pytest

from loadtest.padding.__main__ import describe, per_shape_contract
from loadtest.padding.buckets import best_buckets, by_group, pieces, waste, waste_with_rows

WIDTHS = (9, 17, 40, 41, 64, 100, 101, 102, 250)


def test_what_is_wasted_is_what_is_sent_beyond_the_lines():
    assert waste([], (64,)) == 0.0
    assert waste([64, 320], (64, 320)) == 0.0
    assert waste([32, 160], (64, 320)) == 0.5


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_no_other_widths_waste_less_than_the_best(count):
    best = best_buckets(WIDTHS, count, 256)
    others = (waste(WIDTHS, (*chosen, 256)) for chosen in combinations(range(8, 256, 8), count - 1))
    assert best[-1] == 256
    assert len(best) == count
    assert waste(WIDTHS, best) == pytest.approx(min(others))


def test_a_line_that_is_too_wide_counts_in_the_pieces_in_which_it_is_read():
    assert pieces([100, 2561, 6000], 2560) == [100, 1281, 1281, 2000, 2000, 2000]


def test_rows_of_padding_are_waste_too():
    contract = per_shape_contract()
    full, three = [[320] * 32], [[320] * 3]
    assert waste_with_rows(full, contract, max_pixels=32 * 48 * 320) == 0.0
    assert waste_with_rows(three, contract, max_pixels=32 * 48 * 320) == pytest.approx(1 - 3 / 8)


def test_pages_are_told_apart_by_what_their_names_begin_with():
    assert by_group({"b_1.jpg": [1], "a_2.jpg": [2], "a_1.png": [3]}) == {"a": [3, 2], "b": [1]}


def test_the_report_has_both_layouts_and_what_would_be_best():
    text = describe({"receipt_1.jpg": [64, 100, 320], "page_1.png": [2560]})
    assert "| any | 24 |" in text
    assert "| per-shape | 6 |" in text
    assert "| 6 | 0." in text
