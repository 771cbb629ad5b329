"""Images a second, waiting, memory and accuracy of the gateway, rapidocr's API server and rapidocr's library.

make bench-peers
python -m loadtest.peers --rounds 1 --pages 8
"""

import argparse
import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from itertools import chain, zip_longest
from pathlib import Path, PurePosixPath

import numpy as np

from gateway.local import PairOptions, build_models
from loadtest.accuracy.circumstances import ROOT, Circumstances, observe
from loadtest.accuracy.comparison import require_same_weights
from loadtest.accuracy.corpus import LabelledPage, read_labels
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.rapidocr_reader import RapidocrReader, prepare_environment
from loadtest.accuracy.scoring import Counts, count_pages, load_page_scorer
from loadtest.document import DocumentError, Markers, update_document
from loadtest.peers.contestants import GATEWAY, api_contestant, gateway_contestant, library_contestant
from loadtest.peers.measure import Plan, Turn, Turns, measure
from loadtest.peers.report import Figures, Results, chart, figures_of, report
from loadtest.stages.pages import corpus_mixes
from loadtest.terminal import say
from triton_models.build import build_repository
from triton_models.catalog import DEFAULT_MODEL_SET, MODEL_SETS
from triton_models.configs import Engine, RuntimeOptions
from triton_models.graph import GraphKind
from triton_models.layouts import ANY_SHAPES, Layout
from triton_models.plans import Recipe
from triton_models.server import LOOPBACK

DOCUMENT = ROOT / "docs" / "performance.md"
CHART = DOCUMENT.parent / "performance" / "peers.svg"
RESULTS = ROOT / "results" / "peers"
HOME = ROOT / ".local"
CORPUS = ROOT.parent / "shared" / "corpus"
WARM_UP = 4
"""Pages: one of each mix."""
EXIT_GOOD, EXIT_IMPOSSIBLE = 0, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write it down."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(given)
    try:
        pages = chosen_pages(options.corpus, options.pages)
        turns, circumstances = asyncio.run(run(options, pages, shlex.join(["python", "-m", "loadtest.peers", *given])))
        write(options, results_of(turns, pages, options.corpus), circumstances, len(pages))
    except (AccuracyError, DocumentError) as error:
        say(f"peers: {error}")
        return EXIT_IMPOSSIBLE
    return EXIT_GOOD


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.peers",
        description="The gateway beside rapidocr's API server and library, with the same weights on the same cores.",
        epilog="Exit code: 0 it was measured, 2 it could not be.",
    )
    top.add_argument("--rounds", type=int, default=2, help="turns of each, with each number of clients (%(default)s)")
    top.add_argument("--pages", type=int, default=24, help="of all mixes in turn, at most (%(default)s)")
    top.add_argument("--clients", nargs="+", type=int, default=(1, 8), help="(default: 1 8)")
    top.add_argument(
        "--engines", nargs="*", type=Engine, choices=list(Engine), default=(), help="further gateways, on other engines"
    )
    top.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    top.add_argument("--no-document", action="store_true", help="write results/peers alone")
    return top


def chosen_pages(corpus: Path, most: int) -> list[LabelledPage]:
    """Receipts, dense pages, scenes and single lines in turn.

    Raises:
        AccuracyError: there is no corpus.
    """
    by_name = {PurePosixPath(page.file).name: page for page in read_labels(corpus)}
    in_turn = chain.from_iterable(zip_longest(*corpus_mixes(corpus).values()))
    return [by_name[page.name] for page in in_turn if page is not None and page.name in by_name][:most]


async def run(options: argparse.Namespace, pages: Sequence[LabelledPage], command: str) -> tuple[Turns, Circumstances]:
    """Start everybody, and let them take turns.

    Raises:
        AccuracyError: rapidocr could not be installed, or reads with other weights.
    """
    python = prepare_environment(HOME / "peers", ROOT / "requirements" / "peers.txt", say)
    repository = build_models(PairOptions("triton", LOOPBACK, 0, DEFAULT_MODEL_SET, HOME))
    async with AsyncExitStack() as stack:
        library = RapidocrReader(python)
        contestants = [
            await stack.enter_async_context(gateway_contestant(repository)),
            *[
                await stack.enter_async_context(gateway_contestant(built_for(engine), f"{GATEWAY}, {engine}"))
                for engine in options.engines
            ],
            await stack.enter_async_context(api_contestant(python)),
            await stack.enter_async_context(library_contestant(library)),
        ]
        require_same_weights(DEFAULT_MODEL_SET, library.description.weights)
        files = [options.corpus / page.file for page in pages]
        turns = await measure(contestants, files, WARM_UP, Plan(options.clients, options.rounds))
    return turns, observe(command, DEFAULT_MODEL_SET, library.description.versions)


def built_for(engine: Engine) -> Path:
    """The same model set in a repository for this engine."""
    repository = HOME / "models" / f"{DEFAULT_MODEL_SET}-{engine}"
    recipe = Recipe(Layout.ANY, GraphKind.TOP1, ANY_SHAPES, warm_up=False)
    runtime = RuntimeOptions(engine=engine)
    build_repository(MODEL_SETS[DEFAULT_MODEL_SET], repository, recipe, runtime=runtime, wheels=HOME / "wheels")
    return repository


def results_of(turns: Turns, pages: Sequence[LabelledPage], corpus: Path) -> Results:
    """The figures of all turns."""
    return {
        clients: {name: figures_of(found, counts_of(found[-1], pages, corpus)) for name, found in by_name.items()}
        for clients, by_name in turns.items()
    }


def counts_of(turn: Turn, pages: Sequence[LabelledPage], corpus: Path) -> Counts:
    """How well the pages were read, by the corpus's own `score.py`."""
    readings = {page.file: turn.readings[corpus / page.file] for page in pages}
    return count_pages(load_page_scorer(corpus / "score.py"), pages, readings)


def write(options: argparse.Namespace, results: Results, circumstances: Circumstances, pages: int) -> None:
    """JSON, Markdown and plot, and the part of the document."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps(as_json(results, circumstances), indent=1), encoding="utf-8")
    text, picture = report(results, circumstances, pages), chart(results)
    (RESULTS / "peers.md").write_text(text, encoding="utf-8")
    (RESULTS / "peers.svg").write_text(picture, encoding="utf-8")
    if not options.no_document:
        update_document(DOCUMENT, text, Markers.of("bench-peers"))
        CHART.write_text(picture, encoding="utf-8")
    print(text)


def as_json(results: Results, circumstances: Circumstances) -> Mapping[str, object]:
    """Everything, in the types that JSON has."""
    return {
        "circumstances": asdict(circumstances),
        "clients": {
            clients: {name: as_plain(one) for name, one in by_name.items()} for clients, by_name in results.items()
        },
    }


def as_plain(one: Figures) -> Mapping[str, object]:
    """The figures of one contestant."""
    return {**asdict(replace(one, counts=np.empty(0))), "counts": one.counts.tolist(), "scores": one.scores}


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
