"""The command line; `python -m loadtest.instances --help`."""

import argparse
import os
import statistics
import sys
from collections.abc import Sequence

from loadtest.accuracy.circumstances import ROOT, describe_machine
from loadtest.document import DocumentError, Markers, update_document
from loadtest.instances.measure import Cost, measure, measure_monitor, measure_shared_memory, measure_threads
from loadtest.instances.models import BUSY, RECOGNISER
from loadtest.instances.report import Measured, report
from triton_models.errors import BuildError
from triton_models.preconditions import PreconditionError
from triton_models.runtime import install_runtime
from triton_models.server import TritonStartError

DOCUMENT = ROOT / "docs" / "python-backend.md"
INSTANCES = (1, 2, 4)
EXIT_GOOD, EXIT_IMPOSSIBLE = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, say so, and write it into the document."""
    options = parser().parse_args(arguments)
    try:
        text = report(measured())
        say(text)
        if not options.no_document:
            update_document(DOCUMENT, text, Markers.of("instances"))
    except (BuildError, DocumentError, PreconditionError, TritonStartError) as error:
        say(f"instances: {error}")
        return EXIT_IMPOSSIBLE
    return EXIT_GOOD


def measured() -> Measured:
    """All figures."""
    runtime = install_runtime(ROOT / ".local" / "triton", say)
    costs: list[Cost] = []
    loads = []
    for number in INSTANCES:
        for cost in (measure(runtime, BUSY, number), measure(runtime, RECOGNISER, number), measure_threads(number)):
            say(str(cost))
            costs.append(cost)
            loads.append(os.getloadavg()[0])
    shared_memory = measure_shared_memory(runtime, INSTANCES[1])
    return Measured(describe_machine(), statistics.mean(loads), costs, shared_memory, measure_monitor(runtime))


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.instances",
        description="Measures what 1, 2 and 4 instances of a model in Triton's Python backend cost on this machine.",
        epilog="Exit code: 0 it was measured, 2 it could not be.",
    )
    top.add_argument("--no-document", action="store_true", help="write no document")
    return top


def say(line: str) -> None:
    """Tell whoever waits."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
