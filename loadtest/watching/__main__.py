"""What traces and Prometheus cost a gateway, in processor time; writes into docs/performance.md.

make bench-watching
python -m loadtest.watching --repeats 20
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles

from loadtest.accuracy.circumstances import ROOT, Circumstances, make_command, observe
from loadtest.accuracy.report import table
from loadtest.document import Markers, update_document
from loadtest.watching.measure import BARE, Costs, measure

DOCUMENT = ROOT / "docs" / "performance.md"
SCRAPE_INTERVAL_S = 15
"""As `deploy/prometheus` has it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.watching", description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, help="(default: %(default)s)")
    parser.add_argument("--pages", type=int, default=20, help="for each way in a repetition (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="watching-") as folder:
        costs = asyncio.run(measure(Path(folder), options.repeats, options.pages))
    text = describe(
        costs, observe(make_command("bench-watching", arguments), "none: calls take a fixed millisecond", {})
    )
    update_document(DOCUMENT, text, Markers.of("bench-watching"))
    print(text)


def describe(costs: Costs, circumstances: Circumstances) -> str:
    """What was measured."""
    told = f"`{circumstances.command}`, {circumstances.date}, gateway {circumstances.versions['gateway']}; "
    told += f"{circumstances.machine}; medians of {len(costs.page_ms[BARE])} repetitions, with quartiles."
    rows = [
        [name, spread(page_ms, "{:.1f}"), spread(costs.ratios[name], "{:.3f}")]
        for name, page_ms in costs.page_ms.items()
    ]
    scrape = median(costs.scrape_ms)
    scraped = (
        f"A scrape of {costs.series:,} samples takes {spread(costs.scrape_ms, '{:.1f}')} ms, as much as "
        f"{costs.pages_in_a_scrape():.2f} pages; every {SCRAPE_INTERVAL_S} s that is "
        f"{scrape / 1e3 / SCRAPE_INTERVAL_S:.3%} of a core."
    )
    header = ["", "processor time of a page, ms", "over that without traces"]
    return "\n\n".join([told, table(header, rows), scraped])


def spread(values: Sequence[float], form: str) -> str:
    """The median, and the quartiles."""
    low, _, high = (form.format(value) for value in quantiles(values, n=4))
    return f"{form.format(median(values))} ({low}-{high})"


if __name__ == "__main__":
    main()
