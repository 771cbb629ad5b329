"""The labelled pages: reading their list, and choosing some of them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from loadtest.accuracy.errors import AccuracyError

QUICK_PAGES = 10
QUICK_LINES = 3


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One image with its true lines.

    Attributes:
        file: path of the image in the corpus; the page's name everywhere.
        level: what was labelled as one line: "line" or "word".
        complete: whether all text of the image is labelled.
        pixels: of the image.
        line_count: labelled lines that are scored.
        label: the record as it stands in the list of labels.
    """

    file: str
    level: str
    complete: bool
    pixels: int
    line_count: int
    label: Mapping[str, object]

    @property
    def stem(self) -> str:
        """The file's name without folder and type."""
        return PurePosixPath(self.file).stem

    @property
    def group(self) -> str:
        """The kind of image: what stands before the first "_" in its name, as `score.py` groups."""
        return self.stem.split("_")[0]


Chooser = Callable[[Sequence[LabelledPage]], Sequence[LabelledPage]]
"""Picks the pages to read from all pages."""


def read_labels(corpus: Path) -> list[LabelledPage]:
    """All labelled pages of a corpus, in its order.

    Raises:
        AccuracyError: there is no corpus.
    """
    path = corpus / "labels.jsonl"
    if not path.is_file():
        raise AccuracyError(f"no labelled corpus at {corpus}: say with --corpus where it is")
    return [to_page(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def to_page(label: dict[str, object]) -> LabelledPage:
    """One record of the list."""
    width, height, lines = label["width"], label["height"], label["lines"]
    assert isinstance(width, int)
    assert isinstance(height, int)
    assert isinstance(lines, list)
    return LabelledPage(
        file=str(label["file"]),
        level=str(label["level"]),
        complete=bool(label.get("gt_complete", True)),
        pixels=width * height,
        line_count=sum(not line.get("ignore") for line in lines),
        label=label,
    )


def write_labels(pages: Iterable[LabelledPage], path: Path) -> None:
    """A list of these pages alone, which `score.py` reads: it takes a page without a prediction for an empty one."""
    path.write_text("".join(json.dumps(page.label, ensure_ascii=False) + "\n" for page in pages), encoding="utf-8")


def first(count: int | None, pages: Sequence[LabelledPage]) -> Sequence[LabelledPage]:
    """The first pages; all of them without a count."""
    return pages[:count]


def smallest_of_each_group(pages: Sequence[LabelledPage]) -> list[LabelledPage]:
    """One page a group, the one with the fewest pixels; in the corpus's order."""
    smallest: dict[str, LabelledPage] = {}
    for page in pages:
        if page.group not in smallest or page.pixels < smallest[page.group].pixels:
            smallest[page.group] = page
    return [page for page in pages if smallest[page.group] is page]


def quick_selection(pages: Sequence[LabelledPage]) -> list[LabelledPage]:
    """The smallest pages that say something: several lines, all of them labelled, as they came (not derived)."""
    useful = [
        page
        for page in pages
        if page.level == "line" and page.complete and page.line_count >= QUICK_LINES and page.group != "derived"
    ]
    return sorted(useful, key=lambda page: page.pixels)[:QUICK_PAGES]
