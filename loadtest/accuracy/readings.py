"""What a reader makes of a page, and the files in which that is kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from loadtest.accuracy.corpus import LabelledPage


class Line(BaseModel):
    """One line of text.

    Attributes:
        quad: four corners (x, y), clockwise from the text's top-left, pixels of the upright image.
        text: what it says.
        score: how sure the reader is, 0 to 1.
        bare: the text without the spaces that were put back, where the reader tells.
    """

    model_config = ConfigDict(frozen=True)

    quad: tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
    text: str
    score: float
    bare: str | None = None


class Reading(BaseModel):
    """One page as a reader saw it.

    Attributes:
        seconds: how long it took.
        lines: in the reader's order; none where it failed.
        error: why it failed, or None.
    """

    model_config = ConfigDict(frozen=True)

    seconds: float
    lines: tuple[Line, ...] = ()
    error: str | None = None


Readings = Mapping[str, Reading]
"""By the page's file, in the order of reading."""


def without_inferred_spaces(readings: Readings) -> Readings:
    """The same pages as they would be if no space were put back."""
    return {
        file: reading.model_copy(
            update={
                "lines": tuple(
                    line if line.bare is None else line.model_copy(update={"text": line.bare}) for line in reading.lines
                )
            }
        )
        for file, reading in readings.items()
    }


class Reader(Protocol):
    """Something that reads images."""

    name: str

    def read(self, image: Path) -> Reading:
        """Read one image; an image that can't be read gives a reading with an error."""


Progress = Callable[[int, LabelledPage, Mapping[str, Reading]], None]
"""Called after each page with its number from 1, and what each reader made of it."""


def read_in_turns(
    readers: Sequence[Reader], pages: Sequence[LabelledPage], corpus: Path, progress: Progress
) -> dict[str, Readings]:
    """Let all readers read page by page, so that the machine is in the same mood for each of them.

    Who goes first alternates: the second finds the file in the page cache and the cores warm.
    """
    readings: dict[str, dict[str, Reading]] = {reader.name: {} for reader in readers}
    for number, page in enumerate(pages, start=1):
        for reader in readers if number % 2 else reversed(readers):
            readings[reader.name][page.file] = reader.read(corpus / page.file)
        progress(number, page, {name: by_file[page.file] for name, by_file in readings.items()})
    return dict(readings)


def write_predictions(readings: Readings, path: Path) -> None:
    """The form that `score.py` reads; it ignores the time and the error, which are kept for whoever looks later."""
    rows = (
        {"file": file, **reading.model_dump(exclude={"lines": {"__all__": {"bare"}}})}
        for file, reading in readings.items()
    )
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
