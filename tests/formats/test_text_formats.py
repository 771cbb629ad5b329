import pytest
from made_pages import CHINESE, EMPTY, FULL, PARAGRAPHS, TURNED, line, page, quad, two_words, word, written

from gateway.formats.markdown import MARKDOWN, escape
from gateway.formats.plain_text import TEXT
from gateway.formats.tsv import TSV


@pytest.mark.parametrize("chosen", [TEXT, MARKDOWN])
def test_a_page_without_text_is_nothing(chosen):
    assert written(chosen, EMPTY) == b""


def test_text_has_a_line_each_and_form_feeds_between_pages():
    first, second = page(two_words(), TURNED), page(CHINESE)
    assert written(TEXT, first, EMPTY, second).decode() == "Hello, <wörld>\nupside down\n\f\f你好。\n"


def test_markdown_parts_paragraphs_by_empty_lines():
    assert written(MARKDOWN, PARAGRAPHS).decode() == "Hello, \\<wörld\\>\\\n你好。\n\nupside down\n"


def test_tsv_numbers_paragraphs_and_the_lines_in_each():
    rows = [row.split("\t") for row in written(TSV, PARAGRAPHS).decode().splitlines()]
    assert [tuple(row[1:5]) for row in rows if row[0] == "3"] == [("1", "1", "1", "0"), ("1", "1", "2", "0")]
    assert [tuple(row[3:5]) for row in rows if row[0] == "4"] == [("1", "1"), ("1", "2"), ("2", "1")]


def test_markdown_keeps_lines_and_parts_pages_by_rules():
    first, second = page(two_words(), TURNED), page(CHINESE)
    assert written(MARKDOWN, first, EMPTY, second).decode() == ("Hello, \\<wörld\\>\\\nupside down\n\n---\n\n你好。\n")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain, text!", "plain, text!"),
        ("a*b_c`d", "a\\*b\\_c\\`d"),
        ("[x](y) <b> a&b ~ | \\", "\\[x\\](y) \\<b\\> a\\&b \\~ \\| \\\\"),
        ("# 5", "\\# 5"),
        ("#5", "#5"),
        ("- item", "\\- item"),
        ("-5 degrees", "-5 degrees"),
        ("+ 3", "\\+ 3"),
        ("1. first", "1\\. first"),
        ("2) second", "2\\) second"),
        ("2026", "2026"),
        ("1.5", "1.5"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("    far in", "far in"),
    ],
)
def test_what_would_mean_something_in_markdown_is_escaped(text, escaped):
    assert escape(text) == escaped


def test_tsv_has_tesseracts_columns_and_levels():
    assert written(TSV, page(two_words())).decode() == (
        "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
        "1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t\n"
        "2\t1\t1\t0\t0\t0\t0\t0\t200\t100\t-1\t\n"
        "3\t1\t1\t1\t0\t0\t0\t0\t200\t100\t-1\t\n"
        "4\t1\t1\t1\t1\t0\t10\t20\t120\t20\t-1\t\n"
        "5\t1\t1\t1\t1\t1\t10\t20\t60\t20\t95.00\tHello,\n"
        "5\t1\t1\t1\t1\t2\t80\t20\t50\t20\t50.00\t<wörld>\n"
    )


def test_an_empty_page_is_a_row_of_tsv_and_pages_are_numbered():
    rows = written(TSV, EMPTY, page(CHINESE)).decode().splitlines()
    assert rows[1] == "1\t1\t0\t0\t0\t0\t0\t0\t200\t100\t-1\t"
    assert [row.split("\t")[1] for row in rows[2:]] == ["2"] * 6


def test_every_row_of_tsv_has_twelve_cells_whatever_is_in_a_word():
    awkward = page(line(quad(0, 0, 9, 9), word('a\tb\n"c"', quad(0, 0, 9, 9))))
    rows = written(TSV, FULL, awkward).decode().splitlines()
    assert {row.count("\t") for row in rows} == {11}
    assert rows[-1].endswith('\ta b "c"')
