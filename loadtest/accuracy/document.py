"""The generated part of a Markdown file: everything between two markers, so that people can write around it."""

from pathlib import Path

from loadtest.accuracy.errors import AccuracyError

BEGIN = "<!-- accuracy: generated from here on by `make accuracy` -->"
END = "<!-- accuracy: end of the generated part -->"


def update_document(path: Path, generated: str) -> None:
    """Write the generated part anew; the file and its markers must be there.

    Raises:
        AccuracyError: there is no such file, or not exactly one pair of markers in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise AccuracyError(f"no document at {path}: make one that has the lines\n{BEGIN}\n{END}") from error
    path.write_text(replace_generated(text, generated), encoding="utf-8")


def replace_generated(text: str, generated: str) -> str:
    """The text with another generated part.

    Raises:
        AccuracyError: not exactly one pair of markers in it, in order.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before or END in after:
        raise AccuracyError(f"the document needs these two lines, once and in this order:\n{BEGIN}\n{END}")
    return f"{before}{BEGIN}\n\n{generated.strip()}\n\n{END}{after}"
