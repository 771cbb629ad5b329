"""Scores by the corpus's own `score.py`: its tables from a run of it, and its counts page by page.

The tables are what the project answers for, so they come from the program itself, run as anyone would run it. Intervals
and single pages need the counts behind the ratios: they come from the same file's `score_page`, and their sums must
give the table's last row again.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from loadtest.accuracy.corpus import LabelledPage
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.readings import Readings

TOTAL = "all"
"""The row of a table that stands for all groups."""

Row = Mapping[str, float | None]
"""Figures of one group; None where the group has nothing to measure."""

Table = Mapping[str, Row]
"""Rows by group, with a row TOTAL."""

Counts = npt.NDArray[np.float64]
"""(pages, figures, 2): what was found, and out of how many; the figures in the order of FIGURES."""

FIGURES: Mapping[str, tuple[str, str, Callable[[LabelledPage], bool]]] = {
    "det_recall": ("matched", "lines", lambda page: page.level == "line"),
    "sim_matched": ("sims", "matched", lambda page: page.level == "line"),
    "page_score": ("sims", "lines", lambda page: page.level == "line"),
    "char_recall": ("chars_found", "chars", lambda _: True),
    "char_precision": ("chars_found", "chars_predicted", lambda page: page.complete),
    "word_accuracy": ("words_found", "words", lambda _: True),
}
"""Each figure as a ratio of two of `score_page`'s counts, summed over the pages that it is defined on."""

PageScorer = Callable[[Mapping[str, object], Sequence[Mapping[str, object]]], Mapping[str, float]]


def score_table(scorer: Path, labels: Path, predictions: Path) -> Table:
    """Run `score.py` on two files.

    Raises:
        AccuracyError: it failed; carries what it said.
    """
    command = [sys.executable, str(scorer), str(labels), str(predictions)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise AccuracyError(f"{scorer.name} failed: {result.stderr.strip()}")
    table: dict[str, dict[str, float | None]] = json.loads(result.stdout)
    return table


def load_page_scorer(scorer: Path) -> PageScorer:
    """The function `score_page` of `score.py`, from the file itself.

    Raises:
        AccuracyError: there is no such file.
    """
    spec = importlib.util.spec_from_file_location("corpus_score", scorer)
    if spec is None or spec.loader is None or not scorer.is_file():
        raise AccuracyError(f"no score.py at {scorer}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    score_page: PageScorer = module.score_page
    return score_page


def count_pages(score_page: PageScorer, pages: Sequence[LabelledPage], readings: Readings) -> Counts:
    """The counts behind the figures of each page."""
    scores = [
        score_page(page.label, [line.model_dump(include={"quad", "text"}) for line in readings[page.file].lines])
        for page in pages
    ]
    return to_counts(pages, scores)


def to_counts(pages: Sequence[LabelledPage], scores: Sequence[Mapping[str, float]]) -> Counts:
    """From `score_page`'s results; a figure that a page does not define counts nothing out of nothing."""
    rows = [
        [(score[found], score[of]) if defined_on(page) else (0.0, 0.0) for found, of, defined_on in FIGURES.values()]
        for page, score in zip(pages, scores, strict=True)
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(FIGURES), 2)


def total(counts: Counts) -> Row:
    """The figures of these pages together."""
    return {
        name: found / of if of else None for name, (found, of) in zip(FIGURES, counts.sum(axis=0).tolist(), strict=True)
    }


def require_agreement(table: Table, counts: Counts) -> None:
    """The counts must give the same total as the program.

    Raises:
        AccuracyError: they do not, so one of the two has changed.
    """
    for name, value in total(counts).items():
        official = table[TOTAL][name]
        if (value is None) != (official is None) or abs((value or 0.0) - (official or 0.0)) > 1e-9:
            raise AccuracyError(f"score.py says {name} = {official}, its counts say {value}")
