"""The table: what each reader makes of each file."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadtest.formats.gateway_side import Answer
from loadtest.formats.odd_files import SERVED, OddFile
from loadtest.formats.peers_side import Outcome, Outcomes

HEAD = """| file | what it is | gateway | rapidocr | `cv2.imdecode` |
|---|---|---|---|---|
"""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Row:
    """One file, and what came of it."""

    file: OddFile
    gateway: Answer
    peers: Outcomes

    @property
    def right(self) -> bool:
        """Whether the gateway's answer is."""
        return self.file.is_right(self.gateway.status, self.gateway.text)


def table(rows: Sequence[Row]) -> str:
    """As Markdown, with a sentence that counts."""
    right = sum(row.right for row in rows)
    summary = f"The gateway answers {right} of {len(rows)} files rightly; {_with_words(rows)}."
    return f"{HEAD}{''.join(map(_line, rows))}\n{summary}\n"


def _with_words(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row.file.words]
    words = sum(len(row.file.words) for row in known)
    gateway = sum(row.file.words_in(row.gateway.text) for row in known)
    rapidocr = sum(row.file.words_in(row.peers.rapidocr.text) for row in known)
    return f"of the {words} words that the files are known to show it reads {gateway}, and rapidocr {rapidocr}"


def _line(row: Row) -> str:
    cells = (f"`{row.file.path.name}`", row.file.kind, _gateway(row), _rapidocr(row), _opencv(row))
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"


def _gateway(row: Row) -> str:
    answer = row.gateway
    if answer.status != SERVED:
        said = f"{answer.status} {answer.code}"
    else:
        options = (f"with {name}={value}" for name, value in row.file.options.items())
        said = ", ".join([_read(row.file, answer.lines, answer.text), *options, *answer.warnings])
    return said if row.right else f"**wrong:** {said}"


def _rapidocr(row: Row) -> str:
    outcome = row.peers.rapidocr
    return _error(row.file, outcome) if outcome.error else _read(row.file, outcome.lines, outcome.text)


def _opencv(row: Row) -> str:
    outcome = row.peers.opencv
    return _error(row.file, outcome) if outcome.error else f"{outcome.size[0]} x {outcome.size[1]}"


def _read(file: OddFile, lines: int, text: str) -> str:
    if not file.words:
        return f"{lines} lines"
    return f"{file.words_in(text)} of {len(file.words)} words"


def _error(file: OddFile, outcome: Outcome) -> str:
    """Its beginning, without the place where the file lies."""
    error = (outcome.error or "").replace(str(file.path), file.path.name)
    return error if len(error) <= _LONGEST else f"{error[:_LONGEST]}..."
