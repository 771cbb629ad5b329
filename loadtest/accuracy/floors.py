"""What the gateway must reach."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtest.accuracy.scoring import Row

CORPUS_FLOORS = {"page_score": 0.90, "char_recall": 0.98, "word_accuracy": 0.965}
QUICK_FLOORS = {"page_score": 0.90, "char_recall": 0.97}
"""For ten small pages: low enough that one misread line does not trip them, high enough that a broken stage does."""
LIBRARY_FLOORS = ("char_precision", "sim_matched")
"""Figures that must not be below the library's in the same run: text that is found at the price of text that is not
there would be no gain."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One floor and whether it holds.

    Attributes:
        figure: what is measured.
        value: the gateway's figure; None where the pages have nothing to measure.
        floor: the least it may be.
        source: where the floor comes from, in words.
    """

    figure: str
    value: float | None
    floor: float
    source: str

    @property
    def holds(self) -> bool:
        """Whether the figure reaches its floor."""
        return self.value is not None and self.value >= self.floor


def judge(floors: Mapping[str, float], gateway: Row, library: Row | None) -> list[Verdict]:
    """Hold the gateway's total against fixed floors and, where the library took part, against those that it sets."""
    verdicts = [Verdict(figure, gateway[figure], floor, "required") for figure, floor in floors.items()]
    set_by_library = {} if library is None else {figure: library[figure] for figure in LIBRARY_FLOORS}
    return verdicts + [
        Verdict(figure, gateway[figure], floor, "rapidocr's")
        for figure, floor in set_by_library.items()
        if floor is not None
    ]
