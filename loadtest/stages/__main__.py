"""The gateway's own cost: processor time and memory of each stage; writes into docs/performance.md.

make bench-stages
python -m loadtest.stages --repeats 10 --model-set ppocrv6-tiny
"""

import argparse
import asyncio
import gc
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gateway.allocator import keep_freed_memory
from gateway.app import event_loop_factory
from loadtest.accuracy.circumstances import ROOT, make_command, observe
from loadtest.document import Markers, update_document
from loadtest.stages.measure import Measured, measure
from loadtest.stages.pages import mixes
from loadtest.stages.report import describe
from loadtest.stages.stand import triton

DOCUMENT = ROOT / "docs" / "performance.md"
FLAME = ROOT / "docs" / "performance" / "flame.svg"
RESULTS = ROOT / "results" / "stages"
CORPUS = ROOT.parent / "shared" / "corpus"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.stages", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="of each page (default: %(default)s)")
    parser.add_argument("--model-set", default="ppocrv6-small", help="(default: %(default)s)")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    options = parser.parse_args(arguments)
    RESULTS.mkdir(parents=True, exist_ok=True)
    measured = run(options)
    circumstances = observe(make_command("bench-stages", arguments), options.model_set, {})
    figures = {"circumstances": asdict(circumstances), "costs": {n: asdict(c) for n, c in measured.costs.items()}}
    (RESULTS / "stages.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    text = describe(measured.costs, circumstances)
    (RESULTS / "stages.md").write_text(text, encoding="utf-8")
    FLAME.parent.mkdir(exist_ok=True)
    FLAME.write_text(measured.flame, encoding="utf-8")
    update_document(DOCUMENT, text, Markers.of("bench-stages"))
    print(text)


def run(options: argparse.Namespace) -> Measured:
    """With a Triton of its own."""
    keep_freed_memory()
    gc.freeze()  # as `run` does
    corpus = options.corpus if options.corpus.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="stages-") as folder,
        triton(options.model_set, Path(folder)) as address,
        asyncio.Runner(loop_factory=event_loop_factory()) as runner,
    ):
        return runner.run(measure(address, mixes(corpus), options.repeats, Path(folder)))


if __name__ == "__main__":
    main()
