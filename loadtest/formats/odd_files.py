"""The odd files of the corpus, made by other projects, and what is right for each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REFUSED = range(400, 500)
SERVED = 200
UNSUPPORTED = 415

_COARSER = {"limit_side": "960"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {"rgba_black_glyphs.png": _COARSER, "rgba_white_glyphs.png": _COARSER}
"""Options that some files need: these two have glyphs of 350 pixels, larger than any that the detector was shown."""


@dataclass(frozen=True, slots=True)
class OddFile:
    """One file.

    Attributes:
        path: of the file.
        kind: what it is, in words.
        expect_class: "ok_text", "ok_empty", "ok_text_or_empty", "ok_or_415", "err" (must be refused) or "err_or_ok".
        words: that it shows, where that is known.
        options: that the gateway is given with it.
    """

    path: Path
    kind: str
    expect_class: str
    words: tuple[str, ...]
    options: Mapping[str, str]

    def is_right(self, status: int, text: str) -> bool:
        """Whether this answer is: never a 5xx, and text where there is some."""
        allowed = {
            "err": status in REFUSED,
            "err_or_ok": status in REFUSED or status == SERVED,
            "ok_or_415": status in (SERVED, UNSUPPORTED),
        }
        return allowed.get(self.expect_class, status == SERVED) and (
            self.expect_class != "ok_text" or self.words_in(text) == len(self.words)
        )

    def words_in(self, text: str) -> int:
        """How many of the words the text has; a word may be cut in two by a space."""
        squeezed = "".join(text.split()).lower()
        return sum("".join(word.split()).lower() in squeezed for word in self.words)


def read_odd_files(corpus: Path) -> list[OddFile]:
    """All of them; none if the corpus is not here."""
    listing = corpus / "odd.jsonl"
    if not listing.is_file():
        return []
    records = map(json.loads, listing.read_text(encoding="utf-8").splitlines())
    return [
        OddFile(
            corpus / record["file"],
            record["kind"],
            record["expect_class"],
            _words(record),
            _OPTIONS.get(Path(record["file"]).name, {}),
        )
        for record in records
    ]


def _words(record: dict[str, object]) -> tuple[str, ...]:
    """Without the large digit on the photos of orientations, which their record calls optional."""
    words = record["expected_text"]
    assert words is None or isinstance(words, list)
    return tuple(word for word in words or () if not word.isdigit())
