"""The report as Markdown: pure functions from figures to text."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadtest.accuracy.circumstances import Circumstances
from loadtest.accuracy.corpus import LabelledPage
from loadtest.accuracy.differences import (
    PARTS,
    WATCHED,
    WORSE_BY,
    Difference,
    WorsePage,
    compare,
    select,
    worse_pages,
)
from loadtest.accuracy.floors import Verdict
from loadtest.accuracy.readings import Readings
from loadtest.accuracy.scoring import FIGURES, TOTAL, Counts, Row, Table

PART_FIGURES = ("page_score", "char_recall", "word_accuracy")
GROUP_FIGURES = ("det_recall", "page_score", "char_recall", "char_precision", "word_accuracy")


@dataclass(frozen=True, slots=True)
class Scored:
    """All that one reader made of the pages.

    Attributes:
        name: of the reader.
        readings: its pages.
        table: what `score.py` says of them.
        counts: the same by page.
    """

    name: str
    readings: Readings
    table: Table
    counts: Counts

    @property
    def failed(self) -> dict[str, str]:
        """Why, for each page that has no answer."""
        return {file: reading.error for file, reading in self.readings.items() if reading.error is not None}


def comparison_report(
    circumstances: Circumstances,
    pages: Sequence[LabelledPage],
    library: Scored,
    gateway: Scored,
    verdicts: Sequence[Verdict],
    *,
    bare: Scored,
    chart: str,
) -> str:
    """Everything, side by side; `bare` is the gateway without spaces put back, `chart` what the picture links to."""
    worse = worse_pages(pages, library.counts, gateway.counts)
    sections = [
        head(circumstances, pages),
        section("Floors", floors_table(verdicts)),
        failures([library, gateway]),
        section("All pages", differences_table(compare(library.counts, gateway.counts))),
        section(
            "By kind of image", f"![page_score of each kind of image]({chart})\n\n{groups_table(library, gateway)}"
        ),
        section("Parts of the corpus", parts_table(pages, library, gateway)),
        section("Spaces that are put back", spaces_table(library, gateway, bare)),
        section(f"Pages that the gateway reads worse by more than {WORSE_BY * 100:.0f} points", worse_table(worse)),
        section("Time", times(library.readings, gateway.readings)),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def quick_report(
    circumstances: Circumstances, pages: Sequence[LabelledPage], gateway: Scored, verdicts: Sequence[Verdict]
) -> str:
    """The gateway alone."""
    rows = ((name, number(value)) for name, value in gateway.table[TOTAL].items() if name in FIGURES)
    sections = [
        head(circumstances, pages),
        section("Floors", floors_table(verdicts)),
        failures([gateway]),
        section("All pages", table(("figure", "gateway"), rows)),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def head(circumstances: Circumstances, pages: Sequence[LabelledPage]) -> str:
    """What was measured, when, with what and where."""
    return (
        f"`{circumstances.command}` on {circumstances.date}: {len(pages)} pages, "
        f"{sum(page.line_count for page in pages)} labelled lines, models {circumstances.model_set}.\n"
        f"{circumstances.versions_told}. Machine: {circumstances.machine}."
    )


def section(title: str, body: str) -> str:
    """A titled part."""
    return f"### {title}\n\n{body}"


def floors_table(verdicts: Iterable[Verdict]) -> str:
    """Each floor and whether it holds; a sentence where the pages are too few to judge."""
    rows = [
        (v.figure, number(v.value), f"{number(v.floor)} ({v.source})", "holds" if v.holds else "**missed**")
        for v in verdicts
    ]
    if not rows:
        return "Not judged: the floors are for the whole corpus."
    return table(("figure", "gateway", "floor", "verdict"), rows)


def failures(readers: Iterable[Scored]) -> str:
    """The pages that a reader gave no answer for; nothing if there are none."""
    rows = [(reader.name, file, error) for reader in readers for file, error in reader.failed.items()]
    return section("Pages without an answer", table(("reader", "page", "error"), rows)) if rows else ""


def differences_table(differences: Mapping[str, Difference]) -> str:
    """Every figure side by side."""
    rows = ((name, *difference_cells(difference)) for name, difference in differences.items())
    return table(("figure", "rapidocr", "gateway", "difference", "95 % interval"), rows)


def parts_table(pages: Sequence[LabelledPage], library: Scored, gateway: Scored) -> str:
    """The chief figures over parts of the pages."""
    rows = []
    for part in PARTS:
        chosen = select(part, pages)
        differences = compare(library.counts[chosen], gateway.counts[chosen]) if chosen else {}
        rows += [
            (part.name, str(len(chosen)), figure, *difference_cells(differences[figure]))
            for figure in PART_FIGURES
            if chosen and differences[figure].value is not None
        ]
    return table(("part", "pages", "figure", "rapidocr", "gateway", "difference", "95 % interval"), rows)


def difference_cells(difference: Difference) -> tuple[str, str, str, str]:
    """Both values, their difference and its interval."""
    interval = "" if math.isnan(difference.low) else f"{signed(difference.low)} to {signed(difference.high)}"
    return number(difference.library), number(difference.gateway), signed(difference.value), interval


def groups_table(library: Scored, gateway: Scored) -> str:
    """A row for each group; a cell holds the library's figure, the gateway's, and the difference."""
    rows = [
        (
            group,
            f"{row['pages']:.0f}",
            f"{row['lines']:.0f}",
            *(change(library.table[group], row, figure) for figure in GROUP_FIGURES),
        )
        for group, row in gateway.table.items()
    ]
    header = ("kind", "pages", "lines", *GROUP_FIGURES)
    explanation = (
        "From rapidocr's figure to the gateway's, with the difference (bold: worse); one number where they are equal."
    )
    return f"{explanation}\n\n{table(header, rows)}"


def change(library: Row, gateway: Row, figure: str) -> str:
    """One cell of the groups' table; empty where one of the two has nothing to measure."""
    before, after = library[figure], gateway[figure]
    if before is None or after is None:
        return ""
    difference = f"{after - before:+.3f}"
    if float(difference) == 0:
        return f"{after:.3f}"
    marked = f"**{difference}**" if after < before else difference
    return f"{before:.3f} → {after:.3f} ({marked})"


def spaces_table(library: Scored, gateway: Scored, bare: Scored) -> str:
    """How many words are right by each of the three, over all pages and by kind of image."""
    cells = {
        group: (row["word_accuracy"], bare.table[group]["word_accuracy"], library.table[group]["word_accuracy"])
        for group, row in gateway.table.items()
    }
    rows = [
        (group, number(other), number(without), number(value))
        for group, (value, without, other) in cells.items()
        if value is not None and (group == TOTAL or value != without)
    ]
    lines = [line for reading in gateway.readings.values() for line in reading.lines]
    changed = sum(line.bare is not None and line.bare.split() != line.text.split() for line in lines)
    explanation = (
        "`word_accuracy` with spaces put back where the model nearly wrote them (`infer_spaces`), which changes "
        f"{changed} of {len(lines)} lines, and without; kinds of image in which that is no difference are left out."
    )
    return f"{explanation}\n\n{table(('kind', 'rapidocr', 'gateway without', 'gateway'), rows)}"


def worse_table(pages: Sequence[WorsePage]) -> str:
    """The pages that were lost, or that there are none."""
    if not pages:
        return f"None, neither by {' nor by '.join(WATCHED)}."
    rows = ((p.file, p.figure, number(p.library), number(p.gateway), signed(p.gateway - p.library)) for p in pages)
    return table(("page", "figure", "rapidocr", "gateway", "difference"), rows)


def times(library: Readings, gateway: Readings) -> str:
    """The time of both, as a ratio first: seconds depend on the machine, the ratio hardly does."""
    ratios = [reading.seconds / library[file].seconds for file, reading in gateway.items()]
    own, other = (sum(reading.seconds for reading in readings.values()) for readings in (gateway, library))
    return (
        f"The gateway takes **{own / other:.2f}** of rapidocr's time for all pages, one at a time ({own:.0f} s, HTTP "
        f"included, against {other:.0f} s), and {statistics.median(ratios):.2f} for the median page."
    )


def spread(values: Sequence[float]) -> str:
    """The median, and the extremes."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines)


def escape(cell: str) -> str:
    """Text that stays in its cell."""
    return cell.replace("|", "\\|").replace("\n", " ")


def number(value: float | None) -> str:
    """Four decimals, or nothing."""
    return "" if value is None else f"{value:.4f}"


def signed(value: float | None) -> str:
    """Four decimals with a sign, or nothing."""
    return "" if value is None else f"{value:+.4f}"
