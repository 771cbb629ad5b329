"""The command line; `python -m loadtest.observe --help`."""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.document import DocumentError, Markers, update_document
from loadtest.observe.asking import panels_without_data
from loadtest.observe.boards import boards
from loadtest.observe.chart import chart
from loadtest.observe.errors import ObserveError
from loadtest.observe.incident import Record, play
from loadtest.observe.programs import missing
from loadtest.observe.report import report
from tests.drills.errors import DrillError
from tests.ops.dashboards import file_of
from triton_models.preconditions import PreconditionError
from triton_models.runtime import install_runtime
from triton_models.server import TritonStartError

DOCUMENT, PICTURE = ROOT / "docs" / "observability.md", ROOT / "docs" / "observability.svg"
BOARDS = ROOT / "docs" / "observability"
"""The pictures of the dashboards, named as their files in deploy/grafana."""
EXIT_GOOD, EXIT_BAD, EXIT_IMPOSSIBLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the incident; the exit code says whether it was seen as it should be."""
    options = parser().parse_args(arguments)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    if lacking := missing():
        say("\n".join(lacking))
        return EXIT_IMPOSSIBLE
    try:
        with tempfile.TemporaryDirectory(prefix="observe-") as folder:
            return show(asyncio.run(play(install_runtime(ROOT / ".local" / "triton", say), Path(folder), say)), options)
    except (ObserveError, DrillError, DocumentError, PreconditionError, TritonStartError) as error:
        say(f"observe: {error}")
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_IMPOSSIBLE


def show(record: Record, options: argparse.Namespace) -> int:
    """Say what was seen, and write it into the document."""
    text = report(record)
    say(text)
    if not options.no_document:
        update_document(DOCUMENT, text, Markers.of("observe"))
        PICTURE.write_text(chart(record), encoding="utf-8")
        for title, picture in boards(record).items():
            (BOARDS / f"{file_of(title)}.svg").write_text(picture, encoding="utf-8")
    faults = [f"no data: {panel}" for panel in sorted(panels_without_data(record.calm))]
    faults += ["nobody was paged in time"] if record.paged_after_s is None else []
    faults += ["the page was not taken back in time"] if record.resolved_after_s is None else []
    say("\n".join(faults) or "every panel has data; somebody was paged, and the page was taken back")
    return EXIT_BAD if faults else EXIT_GOOD


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.observe",
        description="Plays an incident: a Triton hangs under load, watched by a real Prometheus and Alertmanager.",
        epilog="Exit code: 0 all was seen, 1 something was not, 2 it could not be played.",
    )
    top.add_argument("--no-document", action="store_true", help="write no document")
    return top


def say(line: str) -> None:
    """Tell whoever waits."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
