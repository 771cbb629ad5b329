"""The generated part of a Markdown file: everything between two markers, so that people can write around it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self


class DocumentError(Exception):
    """There is no such document, or not exactly one pair of markers in it, in order."""


@dataclass(frozen=True, slots=True)
class Markers:
    """The lines around a generated part.

    Attributes:
        begin, end: see there.
    """

    begin: str
    end: str

    @classmethod
    def of(cls, target: str) -> Self:
        """Those of the part that this target of the Makefile writes."""
        return cls(
            f"<!-- {target}: generated from here on by `make {target}` -->",
            f"<!-- {target}: end of the generated part -->",
        )


def update_document(path: Path, generated: str, markers: Markers) -> None:
    """Write the generated part anew; the file and its markers must be there.

    Raises:
        DocumentError: they are not.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DocumentError(
            f"no document at {path}: make one that has the lines\n{markers.begin}\n{markers.end}"
        ) from error
    path.write_text(replace_generated(text, generated, markers), encoding="utf-8")


def replace_generated(text: str, generated: str, markers: Markers) -> str:
    """The text with another generated part.

    Raises:
        DocumentError: it has no place for it.
    """
    before, begin, rest = text.partition(markers.begin)
    _, end, after = rest.partition(markers.end)
    if not begin or not end or markers.begin in rest or markers.end in before or markers.end in after:
        raise DocumentError(
            f"the document needs these two lines, once and in this order:\n{markers.begin}\n{markers.end}"
        )
    return f"{before}{markers.begin}\n\n{generated.strip()}\n\n{markers.end}{after}"
