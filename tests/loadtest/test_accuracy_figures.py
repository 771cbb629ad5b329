"""From scores to ratios, intervals and verdicts."""

import numpy as np
import pytest
from accuracy_examples import QUAD, label_of, page_of, reading_of, row_of, score_of

from loadtest.accuracy import differences
from loadtest.accuracy.corpus import to_page, write_labels
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.floors import CORPUS_FLOORS, judge
from loadtest.accuracy.readings import Line, Reading, write_predictions
from loadtest.accuracy.scoring import (
    FIGURES,
    count_pages,
    load_page_scorer,
    require_agreement,
    score_table,
    to_counts,
    total,
)


class TestScoring:
    @pytest.mark.parametrize(
        ("level", "complete", "figures"),
        [
            ("line", True, (0.5, 0.8, 0.4, 0.9, 0.75, 0.5)),
            ("line", False, (0.5, 0.8, 0.4, 0.9, None, 0.5)),
            ("word", True, (None, None, None, 0.9, 0.75, 0.5)),
            ("word", False, (None, None, None, 0.9, None, 0.5)),
        ],
    )
    def test_a_page_counts_only_for_the_figures_that_its_labels_define(self, level, complete, figures):
        page = page_of("a_1.png", level=level, complete=complete)
        score = score_of(lines=2, matched=1, sims=0.8, chars=10, found=9, predicted=12, words=4, words_found=2)
        assert tuple(total(to_counts([page], [score])).values()) == pytest.approx(figures)

    def test_totals_weigh_lines_not_pages(self):
        pages = [page_of("a_1.png"), page_of("a_2.png")]
        counts = to_counts(pages, [score_of(lines=1, matched=1, sims=1.0), score_of(lines=3)])
        assert total(counts)["page_score"] == 0.25

    def test_no_pages_have_no_figures(self):
        assert total(to_counts([], [])) == dict.fromkeys(FIGURES)

    def test_a_table_that_says_something_else_is_refused(self):
        counts = to_counts([page_of("a_1.png")], [score_of(lines=2, matched=1, sims=1.0)])
        table = {"all": {**total(counts), "page_score": 0.6}}
        with pytest.raises(AccuracyError, match=r"page_score = 0\.6, its counts say 0\.5"):
            require_agreement(table, counts)

    def test_the_scorer_is_that_of_the_corpus(self, scorer, tmp_path):
        """One line misread in one of four letters, one not found, and a page that was read perfectly."""
        labels = [label_of("a_1.png", ["abcd", "wxyz"]), label_of("b_1.png", ["hello world"])]
        pages = [to_page(label) for label in labels]
        misread = Reading(seconds=1.0, lines=(Line(quad=QUAD, text="abcx", score=1.0),))
        readings = {pages[0].file: misread, pages[1].file: reading_of(labels[1])}
        write_labels(pages, tmp_path / "labels.jsonl")
        write_predictions(readings, tmp_path / "predictions.jsonl")
        table = score_table(scorer, tmp_path / "labels.jsonl", tmp_path / "predictions.jsonl")
        require_agreement(table, count_pages(load_page_scorer(scorer), pages, readings))
        assert table["a"]["page_score"] == pytest.approx(0.75 / 2)
        assert table["all"]["page_score"] == pytest.approx(1.75 / 3)
        assert table["all"]["word_accuracy"] == pytest.approx(2 / 4)

    def test_a_scorer_that_fails_is_quoted(self, scorer, tmp_path):
        with pytest.raises(AccuracyError, match=r"(?s)score\.py failed: .*No such file"):
            score_table(scorer, tmp_path / "absent", tmp_path / "absent")

    def test_an_absent_scorer_is_named(self, tmp_path):
        with pytest.raises(AccuracyError, match=r"no score\.py at"):
            load_page_scorer(tmp_path / "score.py")


def counts_of(*sims, lines=10):
    """Pages of ten lines, all found, with these sums of similarities."""
    pages = [page_of(f"a_{number}.png") for number in range(len(sims))]
    return to_counts(pages, [score_of(lines=lines, matched=lines, sims=value) for value in sims])


class TestDifferences:
    def test_equal_readers_differ_by_nothing_for_sure(self):
        counts = counts_of(9.0, 5.0, 7.0)
        difference = differences.compare(counts, counts)["page_score"]
        assert (difference.value, difference.low, difference.high) == (0.0, 0.0, 0.0)

    def test_the_same_gain_on_each_page_is_certain(self):
        difference = differences.compare(counts_of(5.0, 7.0, 2.0), counts_of(6.0, 8.0, 3.0))["page_score"]
        assert (difference.value, difference.low, difference.high) == pytest.approx((0.1, 0.1, 0.1))

    def test_a_gain_on_one_page_of_many_is_not(self):
        difference = differences.compare(counts_of(*[5.0] * 10), counts_of(9.0, *[5.0] * 9))["page_score"]
        assert difference.value == pytest.approx(0.04)
        assert difference.low == pytest.approx(0.0)
        assert difference.high == pytest.approx(0.12)

    def test_the_interval_is_that_of_the_normal_approximation_where_that_holds(self):
        gains = np.random.default_rng(7).normal(0.5, 1.0, size=400)
        difference = differences.compare(counts_of(*[5.0] * 400), counts_of(*(5.0 + gains)))["page_score"]
        half_width = 1.96 * gains.std() / np.sqrt(400) / 10
        assert difference.low == pytest.approx(gains.mean() / 10 - half_width, abs=0.001)
        assert difference.high == pytest.approx(gains.mean() / 10 + half_width, abs=0.001)

    def test_what_no_page_defines_has_neither_value_nor_interval(self):
        difference = differences.compare(counts_of(5.0), counts_of(5.0))["word_accuracy"]
        assert difference.value is None
        assert np.isnan([difference.low, difference.high]).all()

    @pytest.mark.parametrize(
        ("library", "gateway", "worse"),
        [
            ((), (), []),
            ((5.0, 5.0), (5.0, 6.0), []),
            ((5.0, 5.0), (4.9, 4.7), ["images/a_1.png"]),
            ((5.0, 5.0, 5.0), (4.0, 5.0, 1.0), ["images/a_2.png", "images/a_0.png"]),
        ],
    )
    def test_pages_that_lost_two_points_are_listed_the_greatest_loss_first(self, library, gateway, worse):
        pages = [page_of(f"a_{number}.png") for number in range(len(library))]
        found = differences.worse_pages(pages, counts_of(*library), counts_of(*gateway))
        assert [page.file for page in found] == worse

    def test_a_page_can_be_worse_by_its_characters_alone(self):
        pages = [page_of("words_1.png", level="word")]
        library, gateway = (to_counts(pages, [score_of(chars=10, found=found)]) for found in (9, 6))
        [page] = differences.worse_pages(pages, library, gateway)
        assert (page.figure, page.library, page.gateway) == ("char_recall", 0.9, 0.6)

    def test_parts_leave_out_the_densest_page_and_the_derived_ones(self):
        pages = [page_of("enpdf_nics_1330cells.png"), page_of("derived_1.png"), page_of("w_1.png", level="word")]
        assert [differences.select(part, pages) for part in differences.PARTS] == [[1, 2], [2], [0, 1], [2]]


class TestFloors:
    def test_every_floor_of_the_corpus_holds_at_its_own_value(self):
        gateway = row_of(**CORPUS_FLOORS, char_precision=0.99, sim_matched=0.98)
        library = row_of(char_precision=0.99, sim_matched=0.98)
        assert all(verdict.holds for verdict in judge(CORPUS_FLOORS, gateway, library))

    @pytest.mark.parametrize("figure", [*CORPUS_FLOORS, "char_precision", "sim_matched"])
    def test_each_floor_can_be_missed(self, figure):
        reached = {**CORPUS_FLOORS, "char_precision": 0.99, "sim_matched": 0.98}
        gateway = row_of(**{**reached, figure: reached[figure] - 0.0001})
        verdicts = judge(CORPUS_FLOORS, gateway, row_of(**reached))
        assert [verdict.figure for verdict in verdicts if not verdict.holds] == [figure]

    def test_without_the_library_its_floors_are_not_judged(self):
        assert [verdict.figure for verdict in judge({"page_score": 0.9}, row_of(page_score=1.0), None)] == [
            "page_score"
        ]

    def test_a_figure_that_was_not_measured_misses_its_floor(self):
        [verdict] = judge({"page_score": 0.9}, row_of(), None)
        assert not verdict.holds
