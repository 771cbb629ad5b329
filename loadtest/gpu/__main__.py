"""Measurements on a real GPU that is lent for minutes: `python -m loadtest.gpu COMMAND`.

pack      here: put everything that the machine needs into few files
measure   there: bring up the stand and measure
report    here: write docs/gpu.md from the results that are kept in docs/gpu
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

from loadtest.accuracy.circumstances import ROOT
from loadtest.gpu.bench import Bench, Pace, circumstances
from loadtest.gpu.keeping import kept
from loadtest.gpu.pages import read_pages
from loadtest.gpu.plans import PLANS
from loadtest.gpu.report.document import CIRCUMSTANCES, write_report
from loadtest.gpu.results import Notebook, read_results, write_results
from loadtest.gpu.stand import Stand

KEPT = ROOT / "docs/gpu/results.jsonl"


def main() -> None:
    """Run one command."""
    options = parser().parse_args()
    options.command(options)


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="python -m loadtest.gpu", description="Measurements on a GPU.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    pack = commands.add_parser("pack", help="put everything that the machine needs into few files")
    pack.add_argument("--out", type=Path, default=ROOT / ".gpu", help="folder of the parts (default: .gpu)")
    pack.add_argument("--work", type=Path, default=ROOT / ".local/gpu", help="folder for what they are made from")
    pack.add_argument("--corpus", type=Path, default=ROOT.parent / "shared/corpus", help="where pages come from")
    pack.add_argument("--commit", default="HEAD", help="of the project (default: %(default)s)")
    pack.set_defaults(command=run_pack)
    reference = commands.add_parser("reference", help="read the pages on a CPU, with the machine's packages")
    reference.add_argument("repository", type=Path, help="layout per-shape")
    reference.add_argument("pages", type=Path, help="folder of pages")
    reference.add_argument("out", type=Path, help="reference-SET.json")
    reference.set_defaults(command=run_reference)
    measure = commands.add_parser("measure", help="bring up the stand and measure")
    measure.add_argument("plans", nargs="+", choices=sorted(PLANS))
    measure.add_argument("--root", type=Path, required=True, help="folder of the stand")
    measure.add_argument("--out", type=Path, required=True, help="folder for results and logs")
    measure.add_argument("--seconds", type=float, default=570.0, help="for all of it (default: %(default)s)")
    measure.add_argument("--variant", choices=("gpu", "cpu"), default="gpu", help="of the models' configurations")
    measure.add_argument("--brief", action="store_true", help="only see whether everything works")
    measure.set_defaults(command=run_measure)
    report = commands.add_parser("report", help="write docs/gpu.md from the results")
    report.add_argument("--add", type=Path, nargs="*", default=[], help="results of new calls; they replace older ones")
    report.set_defaults(command=run_report)
    return top


def run_pack(options: argparse.Namespace) -> None:
    """`pack`."""
    from loadtest.gpu.packing import Packer  # noqa: PLC0415 - it needs what the machine has no use for

    started = time.monotonic()
    Packer(options.out, options.work, lambda line: say(started, line)).pack(options.corpus, options.commit)


def run_reference(options: argparse.Namespace) -> None:
    """`reference`."""
    from loadtest.gpu.reference import write_reference  # noqa: PLC0415

    started = time.monotonic()
    pages = [page for pages in read_pages(options.pages).values() for page in pages]
    write_reference(options.repository, pages, options.out, lambda line: say(started, line))


def run_measure(options: argparse.Namespace) -> None:
    """`measure`: the plans one after another."""
    started = time.monotonic()
    notebook = Notebook(options.out / "results.jsonl", options.seconds, lambda line: say(started, line))
    stand = Stand(options.root, options.variant, options.root / "logs")
    stand.logs.mkdir(exist_ok=True)
    commit = options.root / "commit"
    snapshot = commit.read_text().strip() if commit.exists() else ""
    notebook.measure(f"{CIRCUMSTANCES}{', '.join(options.plans)}", 0.0, partial(circumstances, snapshot))
    bench = Bench(stand, notebook, Pace.brief() if options.brief else Pace())
    for plan in options.plans:
        notebook.measure(f"plan {plan}", 30.0, partial(PLANS[plan], bench))


def run_report(options: argparse.Namespace) -> None:
    """`report`: keep what is new, in a small form, and write the document anew."""
    if options.add:
        write_results(KEPT, kept(read_results([KEPT, *options.add]).values()))
    write_report(read_results([KEPT]), ROOT / "docs/gpu.md", KEPT.parent)


def say(started: float, line: str) -> None:
    """Tell how it goes, and when."""
    print(f"[{time.monotonic() - started:6.1f}] {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
