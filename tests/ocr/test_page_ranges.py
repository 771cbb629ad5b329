import pytest

from gateway.ocr.page_ranges import PageRanges


@pytest.mark.parametrize(
    ("text", "count", "numbers", "missing"),
    [
        ("1-", 3, (1, 2, 3), ""),
        ("1-", 1, (1,), ""),
        ("2", 3, (2,), ""),
        ("2-2", 3, (2,), ""),
        ("3,1", 3, (1, 3), ""),
        ("1-2,2-3", 3, (1, 2, 3), ""),
        ("1-5", 3, (1, 2, 3), "4-5"),
        ("2-4,7,9-", 3, (2, 3), "4,7,9-"),
        ("4-", 3, (), "4-"),
        ("4", 3, (), "4"),
    ],
)
def test_what_a_file_has_and_what_it_lacks(text, count, numbers, missing):
    pages = PageRanges.parse(text)
    assert pages.select(count) == numbers
    assert pages.missing(count) == missing


@pytest.mark.parametrize("text", ["", "0", "01", "a", "1-2-3", "-3", "1,", ",1", "1 ,2", "3-2", "1000000", "1\n"])
def test_other_texts_are_no_ranges(text):
    with pytest.raises(ValueError, match="range"):
        PageRanges.parse(text)


def test_a_wide_range_costs_no_more_than_the_file_has_pages():
    assert PageRanges.parse("1-999999").select(2) == (1, 2)
