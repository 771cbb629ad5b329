"""Pages a second through HTTP, over those of the same Triton fed the same tensors by a bare gRPC client.

make bench-efficiency
python -m loadtest.efficiency --model-sets ppocrv6-tiny --rounds 2 --pages 12
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from gateway.app import event_loop_factory
from loadtest.accuracy.circumstances import ROOT, make_command, observe
from loadtest.accuracy.report import spread, table
from loadtest.document import Markers, update_document
from loadtest.efficiency.measure import CONCURRENCIES, Plan, Rates, measure
from loadtest.stages.pages import corpus_mixes, reference_page
from loadtest.stages.stand import models, triton_process

DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "results" / "efficiency"
CORPUS = ROOT.parent / "shared" / "corpus"
OF_EACH_MIX = 2
MODEL_SETS = ("ppocrv6-small", "ppocrv6-tiny")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.efficiency", description=__doc__)
    parser.add_argument("--model-sets", nargs="+", default=MODEL_SETS, help="(default: both small and tiny)")
    parser.add_argument("--rounds", type=int, default=2, help="of each kind of client (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=16, help="in each round, at the least (default: %(default)s)")
    parser.add_argument("--mixes", nargs="+", help="of the corpus (default: all)")
    parser.add_argument("--concurrencies", nargs="+", type=int, default=CONCURRENCIES, help="(default: 1 8 32)")
    parser.add_argument("--repository", type=Path, help="models built before, in place of a set; writes no document")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    RESULTS.mkdir(parents=True, exist_ok=True)
    rates = {name: run(repository, options) for name, repository in repositories(options).items()}
    circumstances = observe(make_command("bench-efficiency", arguments), ", ".join(rates), {})
    figures = {
        "circumstances": asdict(circumstances),
        "rates": {name: {number: asdict(one) for number, one in found.items()} for name, found in rates.items()},
    }
    (RESULTS / "efficiency.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    told = f"`{circumstances.command}`, {circumstances.date}, {circumstances.versions_told}; {circumstances.machine}"
    text = f"{told}, {options.rounds} rounds of {options.pages} pages.\n\n{describe(rates)}"
    (RESULTS / "efficiency.md").write_text(text, encoding="utf-8")
    if not options.repository:
        update_document(DOCUMENT, text, Markers.of("bench-efficiency"))
    print(text)


def repositories(options: argparse.Namespace) -> Mapping[str, Path]:
    """Where models lie, by what they are called in the table."""
    if options.repository:
        return {options.repository.resolve().name: options.repository}
    return {model_set: models(model_set) for model_set in options.model_sets}


def run(repository: Path, options: argparse.Namespace) -> Mapping[int, Rates]:
    """With a Triton of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="efficiency-") as name,
        triton_process(repository, Path(name)) as server,
        asyncio.Runner(loop_factory=event_loop_factory()) as runner,
    ):
        folder = Path(name)
        return runner.run(
            measure(
                server.grpc_address,
                pages_in(folder, options.corpus, options.mixes),
                Plan(options.concurrencies, options.rounds, options.pages),
                folder,
            )
        )


def pages_in(folder: Path, corpus: Path, wanted: Sequence[str] | None) -> list[Path]:
    """Files to read: two of each mix, in turn; without a corpus the drawn page."""
    found = corpus_mixes(corpus) if corpus.is_dir() else {"reference": [reference_page()]}
    mixes = [pages for name, pages in found.items() if wanted is None or name in wanted]
    pages = [page for group in islice(zip(*mixes, strict=False), OF_EACH_MIX) for page in group]
    for page in pages:
        (folder / page.name).write_bytes(page.data)
    return [folder / page.name for page in pages]


def describe(rates: Mapping[str, Mapping[int, Rates]]) -> str:
    """The table."""
    header = ["model set", "concurrency", "pages/s, HTTP", "pages/s, bare gRPC", "efficiency"]
    rows = [
        [model_set, f"{concurrency}", spread(one.http), spread(one.bare), f"**{one.efficiency:.3f}**"]
        for model_set, found in rates.items()
        for concurrency, one in found.items()
    ]
    return table(header, rows)


if __name__ == "__main__":
    main()
