"""From figures to text and picture."""

import xml.etree.ElementTree as ET

import pytest
from accuracy_examples import QUAD, page_of, row_of, score_of

from loadtest.accuracy import report
from loadtest.accuracy.chart import BAR_LENGTH, BarRow, bar_chart
from loadtest.accuracy.circumstances import ROOT, Circumstances
from loadtest.accuracy.comparison import MARKERS
from loadtest.accuracy.floors import Verdict
from loadtest.accuracy.readings import Line, Reading, without_inferred_spaces
from loadtest.accuracy.scoring import to_counts, total
from loadtest.document import replace_generated


def test_the_projects_document_has_the_markers():
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert "new" in replace_generated(text, "new", MARKERS)


class TestChart:
    def test_bars_are_as_long_as_their_values(self):
        chart = ET.fromstring(bar_chart([BarRow("a", (0.5, 1.0))], ("old", "new")))
        lengths = [float(bar.get("width")) for bar in chart.iter("{http://www.w3.org/2000/svg}rect")]
        assert lengths[-2:] == [BAR_LENGTH / 2, BAR_LENGTH]

    def test_names_are_text_whatever_they_hold(self):
        chart = ET.fromstring(bar_chart([BarRow("<a> & b", (0.0, 0.0))], ("x", "y")))
        assert "<a> & b" in [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")]

    def test_no_rows_give_a_chart_with_a_legend_alone(self):
        chart = ET.fromstring(bar_chart([], ("x", "y")))
        assert [text.text for text in chart.iter("{http://www.w3.org/2000/svg}text")] == ["x", "y"]


CIRCUMSTANCES = Circumstances(
    "python -m loadtest.accuracy", "2026-01-02", {"gateway": "1.0"}, "ppocrv6-small", "2 cores, Some CPU"
)


def scored_of(name, pages, scores, readings):
    counts = to_counts(pages, scores)
    table = {"a": {"pages": len(pages), "lines": 1, **total(counts)}, "all": {"pages": 1, "lines": 1, **total(counts)}}
    return report.Scored(name, readings, table, counts)


class TestReport:
    def test_everything_stands_in_the_comparison(self):
        pages = [page_of("a_1.png"), page_of("a_2.png")]
        readings = {page.file: Reading(seconds=2.0) for page in pages}
        faster = {pages[0].file: Reading(seconds=1.0), pages[1].file: Reading(seconds=1.5, error="503: overloaded")}
        library = scored_of("rapidocr", pages, [score_of(lines=1, matched=1, sims=0.5)] * 2, readings)
        gateway = scored_of("gateway", pages, [score_of(lines=1, matched=1, sims=1.0), score_of(lines=1)], faster)
        verdicts = [Verdict("page_score", 0.5, 0.9, "required")]
        text = report.comparison_report(
            CIRCUMSTANCES, pages, library, gateway, verdicts, bare=gateway, chart="accuracy.svg"
        )
        for expected in (
            "`python -m loadtest.accuracy` on 2026-01-02: 2 pages, 2 labelled lines, models ppocrv6-small.",
            "| page_score | 0.5000 | 0.9000 (required) | **missed** |",
            "| gateway | images/a_2.png | 503: overloaded |",
            "| sim_matched | 0.5000 | 1.0000 | +0.5000 |",
            "![page_score of each kind of image](accuracy.svg)",
            "| a | 2 | 1 | 1.000 → 0.500 (**-0.500**) | 0.500 |",
            "| labelled by line | 2 | page_score | 0.5000 | 0.5000 | +0.0000 |",
            "| images/a_2.png | page_score | 0.5000 | 0.0000 | -0.5000 |",
            "**0.62** of rapidocr's time",
        ):
            assert expected in text
        assert "labelled by word" not in text

    def test_the_quick_report_has_the_gateway_alone(self):
        pages = [page_of("a_1.png")]
        gateway = scored_of(
            "gateway", pages, [score_of(lines=1, matched=1, sims=1.0)], {pages[0].file: Reading(seconds=1)}
        )
        text = report.quick_report(CIRCUMSTANCES, pages, gateway, [Verdict("page_score", 1.0, 0.9, "required")])
        assert "| page_score | 1.0000 | 0.9000 (required) | holds |" in text
        assert "rapidocr" not in text
        assert "without an answer" not in text

    @pytest.mark.parametrize(
        ("library", "gateway", "cell"),
        [
            (None, None, ""),
            (0.5, None, ""),
            (0.5, 0.5, "0.500"),
            (0.5, 0.49999, "0.500"),
            (0.5, 0.75, "0.500 → 0.750 (+0.250)"),
            (0.5, 0.25, "0.500 → 0.250 (**-0.250**)"),
        ],
    )
    def test_a_cell_shows_both_figures_and_marks_a_loss(self, library, gateway, cell):
        assert report.change(row_of(page_score=library), row_of(page_score=gateway), "page_score") == cell

    def test_text_cannot_break_a_table(self):
        assert report.table(("a",), [("x|y\nz",)]).splitlines()[-1] == "| x\\|y z |"

    def test_where_nothing_is_worse_that_is_said(self):
        assert report.worse_table([]) == "None, neither by page_score nor by char_recall."

    def test_without_floors_it_is_said_that_nothing_was_judged(self):
        assert report.floors_table([]).startswith("Not judged")


def test_spaces_that_are_put_back_are_counted_and_weighed():
    pages = [page_of("a_1.png")]
    line = Line(quad=QUAD, text="abc def", score=0.9, bare="abcdef")
    readings = {"images/a_1.png": Reading(seconds=1.0, lines=(line,))}
    gateway = scored_of("gateway", pages, [score_of(words=2, words_found=2)], readings)
    bare = scored_of("bare", pages, [score_of(words=2, words_found=0)], without_inferred_spaces(readings))
    library = scored_of("rapidocr", pages, [score_of(words=2, words_found=1)], {})
    text = report.spaces_table(library, gateway, bare)
    assert "changes 1 of 1 lines" in text
    assert "| all | 0.5000 | 0.0000 | 1.0000 |" in text
    assert bare.readings["images/a_1.png"].lines[0].text == "abcdef"
