"""Writes the table of cases to docs/edge-cases.md; `make edge` runs it after the tests that prove the table."""

from pathlib import Path

from cases import BOMBS, FRAMING, NAMES, SIZES, SLOW, WELL_FORMED

DOCUMENT = Path(__file__).parents[2] / "docs" / "edge-cases.md"

HEAD = """# Edge cases

What a gateway answers to unusual bytes, and what comes back through the nginx of `deploy/nginx`. Made by `make edge`
after `tests/edge` has sent every one of them to both; change `tests/edge/cases.py`, not this file. Where nginx takes
what a gateway refuses it has read the request kindly and passes on a clean one: nothing is understood in two ways.
*closed* includes connections whose end was announced. The times are shortened in the tests.
"""

CHAPTERS = {
    "Requests that are served, or refused for what they contain": WELL_FORMED,
    "Framing": FRAMING,
    "Hosts, paths and methods": NAMES,
    "Sizes": SIZES,
    "Slow clients": SLOW,
    "Forms and JSON made to hurt": BOMBS,
}


def table():
    """The document."""
    return "\n".join([HEAD, *(part for title, cases in CHAPTERS.items() for part in chapter(title, cases))])


def chapter(title, cases):
    """A heading and a table."""
    yield f"## {title}\n"
    yield "| the client sends | about | gateway | through nginx |\n|---|---|---|---|"
    for case in cases:
        nginx = "the same" if case.behind_nginx is None else case.behind_nginx
        yield f"| {case.name} | {case.goal} | {case.direct} | {nginx} |"
    yield ""


if __name__ == "__main__":
    DOCUMENT.write_text(table())
