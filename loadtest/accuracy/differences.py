"""How sure a difference is: the paired bootstrap over pages.

Pages are drawn with replacement, the same ones for both readers, and each figure's difference is computed anew; the
middle 95 % of those differences are the interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter
13: the percentile interval). Pages are the unit because lines of one page succeed and fail together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from loadtest.accuracy.corpus import LabelledPage
from loadtest.accuracy.scoring import FIGURES, Counts, total

DRAWS = 4000
SEED = 20240229
WORSE_BY = 0.02
WATCHED = ("page_score", "char_recall")
"""The figures by which a page counts as worse."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of both readers on the same pages.

    Attributes:
        library, gateway: the figure; None where these pages have nothing to measure.
        low, high: 95 % interval of gateway - library.
    """

    library: float | None
    gateway: float | None
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """Gateway - library."""
        return None if self.gateway is None or self.library is None else self.gateway - self.library


def compare(library: Counts, gateway: Counts) -> Mapping[str, Difference]:
    """Every figure of two readers over the same pages, with intervals."""
    low, high = intervals(library, gateway)
    before, after = total(library), total(gateway)
    return {
        name: Difference(before[name], after[name], float(low[index]), float(high[index]))
        for index, name in enumerate(FIGURES)
    }


def intervals(library: Counts, gateway: Counts) -> npt.NDArray[np.float64]:
    """The 95 % intervals of gateway - library: (2, figures), NaN where a figure has nothing to measure."""
    pages = len(library)
    draws = np.random.default_rng(SEED).multinomial(pages, np.full(pages, 1 / pages), size=DRAWS)
    drawn = ratios(draws, gateway) - ratios(draws, library)
    bounds = np.full((2, len(FIGURES)), np.nan)
    measured = ~np.isnan(drawn).all(axis=0)
    bounds[:, measured] = np.nanpercentile(drawn[:, measured], [2.5, 97.5], axis=0)
    return bounds


def ratios(draws: npt.NDArray[np.int64], counts: Counts) -> npt.NDArray[np.float64]:
    """The figures of each draw: (draws, figures), NaN where nothing was drawn that a figure is defined on."""
    found, of = np.tensordot(draws, counts, axes=1).transpose(2, 0, 1)
    quotients: npt.NDArray[np.float64] = np.divide(found, of, out=np.full_like(found, np.nan), where=of > 0)
    return quotients


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the pages, to be looked at by themselves.

    Attributes:
        name: in the report.
        holds: whether a page belongs to it.
    """

    name: str
    holds: Callable[[LabelledPage], bool]


DENSEST = "enpdf_nics_1330cells"
PARTS = (
    Part(f"without {DENSEST}", lambda page: page.stem != DENSEST),
    Part("without it and the derived (turned) pages", lambda page: page.stem != DENSEST and page.group != "derived"),
    Part("labelled by line", lambda page: page.level == "line"),
    Part("labelled by word", lambda page: page.level == "word"),
)
"""One page holds a quarter of all labelled lines, and the derived pages were made to be hard: neither may carry a claim
alone."""


def select(part: Part, pages: Sequence[LabelledPage]) -> list[int]:
    """Indices of the pages of a part."""
    return [index for index, page in enumerate(pages) if part.holds(page)]


@dataclass(frozen=True, slots=True)
class WorsePage:
    """A page that the gateway reads worse than the library by more than WORSE_BY.

    Attributes:
        file: the page.
        figure: the figure by which it is worse.
        library, gateway: the figure of each.
    """

    file: str
    figure: str
    library: float
    gateway: float


def worse_pages(pages: Sequence[LabelledPage], library: Counts, gateway: Counts) -> list[WorsePage]:
    """Every page and watched figure where the gateway loses, the greatest loss first."""
    found = []
    for index, page in enumerate(pages):
        before, after = total(library[index : index + 1]), total(gateway[index : index + 1])
        for figure in WATCHED:
            old, new = before[figure], after[figure]
            if old is not None and new is not None and old - new > WORSE_BY:
                found.append(WorsePage(page.file, figure, old, new))
    return sorted(found, key=lambda page: page.gateway - page.library)
