"""What a page costs as it grows: 1 to 2,000 words, 0.1 to 100 MP, a very wide line; and the event loop under clients.

This is about one page and one gateway. How many GPUs and gateways a number of pages needs, is `make scaling`.

make bench-scaling
python -m loadtest.growth --parts words --words 10 200 --repeats 1 --model-set ppocrv6-tiny
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict

from gateway.app import event_loop_factory
from loadtest.accuracy.circumstances import ROOT, Circumstances, make_command, observe
from loadtest.document import Markers, update_document
from loadtest.growth.clients import ACTIVE, lags
from loadtest.growth.drawn import of_size, with_lines, with_words
from loadtest.growth.one_page import cost_of, costs_in_turn
from loadtest.growth.report import Growth, describe, plots

DOCUMENT = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "performance" / "growth.svg"
RESULTS = ROOT / "results" / "growth"
PARTS = ("words", "wide", "sizes", "clients")
WORDS = (1, 10, 50, 200, 1000, 2000)
SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ACTIVE_CLIENTS = (0, 1, 8, ACTIVE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    options = parser().parse_args(arguments)
    RESULTS.mkdir(parents=True, exist_ok=True)
    with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
        growth = runner.run(measure(options))
    circumstances = observe(make_command("bench-scaling", arguments), options.model_set, {})
    text = f"{told(circumstances, options)}\n\n{describe(growth)}"
    (RESULTS / "growth.json").write_text(json.dumps(figures(growth, circumstances), indent=1), encoding="utf-8")
    (RESULTS / "growth.md").write_text(text, encoding="utf-8")
    if not options.no_document:
        PLOTS.write_text(plots(growth), encoding="utf-8")
        update_document(DOCUMENT, text, Markers.of("bench-scaling"))
    print(text)


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.growth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="(default: all)")
    top.add_argument("--words", nargs="+", type=int, default=WORDS, help="on a page (default: 1 to 2000)")
    top.add_argument("--sizes", nargs="+", type=float, default=SIZES, help="megapixels (default: 0.1 to 100)")
    top.add_argument("--clients", nargs="+", type=int, default=ACTIVE_CLIENTS, help="active (default: 0 1 8 64)")
    top.add_argument("--repeats", type=int, default=3, help="of each page, for its time (default: %(default)s)")
    top.add_argument("--seconds", type=float, default=60.0, help="for each number of clients (default: %(default)s)")
    top.add_argument("--model-set", default="ppocrv6-small", help="(default: %(default)s)")
    top.add_argument("--no-document", action="store_true", help="write into results/ alone")
    return top


async def measure(options: argparse.Namespace) -> Growth:
    """The parts that are wanted."""
    model_set, repeats = options.model_set, options.repeats
    words, sizes, wide = {}, {}, None
    if "words" in options.parts:
        words = {count: await cost_of(with_words(count), model_set, repeats) for count in options.words}
    if "wide" in options.parts:
        wide = await costs_in_turn(with_lines(wide=False), with_lines(wide=True), model_set, repeats)
    if "sizes" in options.parts:
        sizes = {size: await cost_of(of_size(size), model_set, repeats) for size in options.sizes}
    late = await lags(model_set, options.seconds, tuple(options.clients)) if "clients" in options.parts else {}
    return Growth(words, sizes, wide, late)


def told(circumstances: Circumstances, options: argparse.Namespace) -> str:
    """Under what circumstances."""
    return (
        f"`{circumstances.command}`, {circumstances.date}, {circumstances.versions_told}, {circumstances.model_set}; "
        f"{circumstances.machine}. Each page {options.repeats} times, clients for {options.seconds:g} s."
    )


def figures(growth: Growth, circumstances: Circumstances) -> dict[str, object]:
    """Everything, for JSON."""
    return {
        "circumstances": asdict(circumstances),
        "words": {count: asdict(cost) for count, cost in growth.words.items()},
        "sizes": {size: asdict(cost) for size, cost in growth.sizes.items()},
        "wide": [asdict(cost) for cost in growth.wide or ()],
        "lags": {name: [asdict(lag) for lag in found] for name, found in growth.lags.items()},
    }


if __name__ == "__main__":
    main()
