"""How much a deployment answers before it is late, what is full first, and how many of them a rate takes.

make capacity
make capacity ARGS="--mixes one-liners --step-seconds 15"
make capacity ARGS="--host https://ocr.example --images ~/scans --slo-ms 500"
"""

import argparse
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT, observe
from loadtest.capacity.campaign import LOCUST, MixResult, Plan, measure
from loadtest.capacity.chart import chart
from loadtest.capacity.deployment import Deployment, local_pair, running
from loadtest.capacity.errors import CapacityError
from loadtest.capacity.pages import Mixes, find_mixes
from loadtest.capacity.report import json_report, markdown
from loadtest.document import DocumentError, Markers, update_document
from loadtest.stages.pages import REFERENCE
from loadtest.terminal import say

DOCUMENT = ROOT / "docs" / "load-testing.md"
CHART = "capacity.svg"
OUT = ROOT / "results" / "capacity"
CORPUS = ROOT.parent / "shared" / "corpus"
STEP_S = 30.0
EXIT_IMPOSSIBLE = 2
TARGETS = (10, 1_000, 100_000)
"""Pages a minute, those of docs/scaling.md."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(given, argparse.Namespace(command=command(given)))
    try:
        run(options)
    except (CapacityError, DocumentError) as error:
        say(f"capacity: {error}")
        return EXIT_IMPOSSIBLE
    except KeyboardInterrupt:
        say(f"stopped; what was measured before is in {options.out}")
        return EXIT_IMPOSSIBLE
    return 0


def command(given: Sequence[str]) -> str:
    """What was asked for, as one would type it; without the key, if one was given."""
    shown = re.sub(r"(?<=--api-key[ =])\S+", "...", " ".join(given))
    return f'make capacity ARGS="{shown}"' if shown else "make capacity"


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.capacity",
        allow_abbrev=False,  # `command` knows the key by its whole name
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit code: 0 measured, whatever came of it; 2 it could not, or not all of it.",
    )
    top.add_argument("--host", help="measure this running deployment, in place of one made for it")
    top.add_argument("--gateway-metrics", help="with --host: its metrics page, if it is not below that address")
    top.add_argument("--triton-metrics", help="with --host: address of its Triton's metrics page")
    top.add_argument("--api-key", default=os.environ.get("OCR_API_KEY", ""), help="(default: OCR_API_KEY)")
    top.add_argument("--model-set", default="ppocrv6-small", help="of the one made for it (%(default)s)")
    top.add_argument("--slo-ms", type=float, default=200.0, help="what P95 should stay below (%(default)g)")
    top.add_argument("--targets", type=float, nargs="+", default=TARGETS, help="pages a minute (10 1000 100000)")
    top.add_argument("--mixes", nargs="+", help="(default: all that there are files for)")
    top.add_argument("--images", type=Path, help="folder whose files are sent, in place of the mixes")
    top.add_argument("--corpus", type=Path, default=CORPUS, help="(%(default)s)")
    top.add_argument("--step-seconds", type=float, default=STEP_S, help="at least (%(default)g)")
    top.add_argument("--step-requests", type=int, default=20, help="due in a step, at least (%(default)s)")
    top.add_argument("--steps", type=int, default=8, help="of each mix, at most (%(default)s)")
    top.add_argument("--timeout", type=float, default=30.0, help="of a request, seconds (%(default)g)")
    top.add_argument("--out", type=Path, default=OUT, help="(%(default)s)")
    top.add_argument("--no-document", action="store_true", help="write no document")
    return top


def run(options: argparse.Namespace) -> None:
    """Measure and write.

    Raises:
        CapacityError, DocumentError: it could not be done; the message says why.
    """
    if not LOCUST.exists():
        raise CapacityError(f"there is no Locust at {LOCUST}: make capacity installs it")
    mixes = chosen(find_mixes(options.corpus, options.images), options.mixes)
    if REFERENCE in mixes:
        say(f"no corpus at {options.corpus}: a drawn page takes the place of its mixes")
    options.out.mkdir(parents=True, exist_ok=True)
    results: list[MixResult] = []
    with deployment(options) as place:
        for result in measure(place, mixes, plan(options)):
            results.append(result)
            write(results, options, place.name)  # so that a run that is broken off leaves what it has
    report = (options.out / "capacity.md").read_text(encoding="utf-8")
    print(report)
    update(report, options)


def chosen(mixes: Mixes, wanted: Sequence[str] | None) -> Mixes:
    """Those that were asked for.

    Raises:
        CapacityError: there are no files for one of them.
    """
    if unknown := [name for name in wanted or () if name not in mixes]:
        raise CapacityError(f"there are no files for {', '.join(unknown)}, but for {', '.join(mixes)}")
    return {name: pages for name, pages in mixes.items() if wanted is None or name in wanted}


def deployment(options: argparse.Namespace) -> AbstractContextManager[Deployment]:
    """The one that is measured."""
    if options.host:
        return running(options.host, options.gateway_metrics, options.triton_metrics)
    if options.gateway_metrics or options.triton_metrics:
        raise CapacityError("addresses of metrics are for --host: those of its own deployment are known")
    return local_pair(options.model_set)


def plan(options: argparse.Namespace) -> Plan:
    """How each mix is measured."""
    return Plan(
        slo_ms=options.slo_ms,
        step_s=options.step_seconds,
        step_requests=options.step_requests,
        steps=options.steps,
        timeout_s=options.timeout,
        corpus=options.corpus,
        images=options.images,
        api_key=options.api_key,
        out=options.out,
    )


def write(results: Sequence[MixResult], options: argparse.Namespace, measured: str) -> None:
    """The figures, the report and the picture, of what has been measured so far."""
    circumstances = observe(options.command, options.model_set, {})
    text = markdown(results, circumstances, measured, options.slo_ms, options.targets)
    (options.out / "capacity.json").write_text(json_report(results, circumstances, measured), encoding="utf-8")
    (options.out / "capacity.md").write_text(text + "\n", encoding="utf-8")
    (options.out / CHART).write_text(chart(results, options.slo_ms), encoding="utf-8")


def update(report: str, options: argparse.Namespace) -> None:
    """The document's part, if everything was measured here."""
    if is_whole(options):
        update_document(DOCUMENT, report, Markers.of("capacity"))
        DOCUMENT.with_name(CHART).write_bytes((options.out / CHART).read_bytes())
    else:
        say(f"docs are as they were, for this was only a part; the report is in {options.out}")


def is_whole(options: argparse.Namespace) -> bool:
    """Whether it was what `make capacity` measures, so that it belongs into the document."""
    partial = (options.host, options.images, options.mixes, options.no_document)
    return not any(partial) and options.step_seconds >= STEP_S and options.corpus.is_dir()


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
