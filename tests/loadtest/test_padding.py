from itertools import combinations

import pytest

from loadtest.padding.__main__ import describe, numbers, per_shape_contract, some
from loadtest.padding.buckets import best_buckets, by_group, pieces, waste, waste_with_rows
from loadtest.padding.timing import Compared, calls_of

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


def test_a_page_alone_takes_a_call_for_each_bucket_and_more_where_a_chunk_is_full():
    assert list(calls_of([10, 64, 65, 320], (64, 128, 320))) == [(64, 2), (128, 1), (320, 1)]
    assert list(calls_of([320] * 33, (320,))) == [(320, 32), (320, 1)]


def test_pages_to_compare_are_of_all_kinds_and_have_no_line_that_is_too_wide():
    pages = {f"{kind}_{number}.jpg": [100, 3000] for kind in "ab" for number in range(4)}
    assert some(pages, 2) == {name: [100, 1500, 1500] for name in ("a_0.jpg", "b_0.jpg")}
    assert numbers("128,64") == (64, 128)


def test_a_comparison_says_what_the_others_save_and_cost():
    told = str(Compared([0.9, 1.0, 1.1], 0.95, (8.0, 6.0)))
    assert "takes 0.950 of its processor time" in told
    assert "for 6.0 calls a page instead of 8.0" in told
