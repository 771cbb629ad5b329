"""Beside the shape that this service replaces: one Python model in Triton that does everything, all lines in one batch.

It holds all lines, padded to the widest, and what the recogniser computes of them at once: with a very wide line
among 200 several GB. So the models' processes have a limit, on both sides.

make bench-pipeline
python -m loadtest.pipeline --rounds 1 --pages 8 --concurrencies 1
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from gateway.app import event_loop_factory
from loadtest.accuracy.circumstances import ROOT, make_command, observe
from loadtest.document import Markers, update_document
from loadtest.efficiency.__main__ import CORPUS, pages_in
from loadtest.growth.drawn import DrawnPage, with_lines
from loadtest.pipeline.reading import Side, rates, single
from loadtest.pipeline.report import Compared, Failure, describe, plot
from loadtest.pipeline.stand import allowed_growth, sides
from tests.drills.repositories import RECOGNITION

DOCUMENT = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance" / "pipeline.svg"
RESULTS = ROOT / "results" / "pipeline"
CONCURRENCIES = (1, 8)
LEAST_GROWTH = 2 << 30
CHANNELS, LINE_HEIGHT = 3, 48
ONE_CHUNK_BYTES = 32 * LINE_HEIGHT * 320 * CHANNELS
"""What the gateway sends at once at the most."""
BELOW_THE_WIDE_LINE_BYTES = LINE_HEIGHT * 1280 * CHANNELS
"""Less than a row that holds half of a line of 3,000 pixels."""
FAULTS: Mapping[str, int] = {
    "memory for no more than 32 lines of 320 pixels": ONE_CHUNK_BYTES,
    "not even memory for the wide line alone": BELOW_THE_WIDE_LINE_BYTES,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    top = parser()
    options = top.parse_args(arguments)
    options.growth = allowed_growth(options.growth_gib << 30)
    if options.growth < LEAST_GROWTH:
        top.error("this machine has too little memory to spare: 6 GiB are the least")
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory(prefix="pipeline-") as folder,
        asyncio.Runner(loop_factory=event_loop_factory()) as runner,
    ):
        compared = runner.run(measure(options, Path(folder)))
    circumstances = observe(make_command("bench-pipeline", arguments), options.model_set, {})
    told = (
        f"`{circumstances.command}`, {circumstances.date}, {circumstances.versions_told}, {circumstances.model_set}; "
        f"{circumstances.machine}. {options.rounds} rounds of {options.pages} pages; {options.instances} instances of "
        f"the pipeline; each process of a model could take {options.growth / 2**30:.1f} GiB more than at rest."
    )
    text = f"{told}\n\n{describe(compared)}"
    figures = {"circumstances": asdict(circumstances), "compared": asdict(compared)}
    (RESULTS / "pipeline.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    (RESULTS / "pipeline.md").write_text(text, encoding="utf-8")
    if not options.no_document:
        PLOT.write_text(plot(compared), encoding="utf-8")
        update_document(DOCUMENT, text, Markers.of("bench-pipeline"))
    print(text)


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.pipeline", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--model-set", default="ppocrv6-tiny", help="(default: %(default)s)")
    top.add_argument("--instances", type=int, default=2, help="of the pipeline (default: %(default)s)")
    top.add_argument("--rounds", type=int, default=2, help="of each side (default: %(default)s)")
    top.add_argument("--pages", type=int, default=16, help="in each round, at the least (default: %(default)s)")
    top.add_argument("--concurrencies", nargs="+", type=int, default=CONCURRENCIES, help="(default: 1 8)")
    top.add_argument("--mixes", nargs="+", help="of the corpus (default: all)")
    top.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    top.add_argument(
        "--growth-gib", type=int, default=16, help="most memory that each model may take (default: %(default)s)"
    )
    top.add_argument("--no-document", action="store_true", help="write into results/ alone")
    return top


async def measure(options: argparse.Namespace, folder: Path) -> Compared:
    """Everything: first under load, then a page, failures, and last the wide line, which may end a Triton."""
    async with sides(options.model_set, options.instances, options.growth, folder) as both:
        (folder / "pages").mkdir()
        pages = [page.read_bytes() for page in pages_in(folder / "pages", options.corpus, options.mixes)]
        found = await rates(both, pages, options.concurrencies, rounds=options.rounds, count=options.pages)
        drawn = with_lines(wide=False), with_lines(wide=True)
        singles = [await single(name, side, drawn[0]) for name, side in both.items()]
        failures = [await failing(both, what, limit, drawn[1]) for what, limit in FAULTS.items()]
        singles += [await single(name, side, drawn[1]) for name, side in both.items()]
    return Compared(found, singles, failures)


async def failing(both: Mapping[str, Side], what: str, memory_bytes: int, page: DrawnPage) -> Failure:
    """Read the page while the recogniser's calls run out of memory that have more input than so many bytes."""
    outcomes = {}
    for name, side in both.items():
        side.served.repository.spoil(RECOGNITION, memory_bytes=memory_bytes)
        outcomes[name] = await single(name, side, page)
        side.served.repository.mend(RECOGNITION)
    return Failure(what, outcomes)


if __name__ == "__main__":
    main()
