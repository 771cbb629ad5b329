"""The tables of `make bench-pipeline`, and its plot. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from xml.sax.saxutils import escape

from loadtest.accuracy.chart import STYLE
from loadtest.accuracy.report import table
from loadtest.pipeline.reading import Rates, Single

MIB = 1 << 20
COLOURS = {"pipeline": "#b0b7c3", "gateway": "#1f6feb"}
LEFT, WIDTH, RIGHT, BAR, GAP, TOP = 250, 360, 70, 12, 12, 34


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of a page while something failed.

    Attributes:
        what: failed.
        outcomes: by side.
    """

    what: str
    outcomes: Mapping[str, Single]


@dataclass(frozen=True, slots=True)
class Compared:
    """Everything that was measured.

    Attributes:
        rates: by concurrency and side.
        singles: pages alone, each on both sides.
        failures: see there.
    """

    rates: Mapping[int, Mapping[str, Rates]]
    singles: Sequence[Single]
    failures: Sequence[Failure]


def describe(compared: Compared) -> str:
    """The tables."""
    tables = (rates_table(compared.rates), singles_table(compared.singles), failures_table(compared.failures))
    return "\n\n".join(part for part in tables if part)


def rates_table(rates: Mapping[int, Mapping[str, Rates]]) -> str:
    """Throughput and latency."""
    header = ["at a time", "side", "pages/s", "p50, s", "p95, s", "lost", "pages/s, ratio", "p95, ratio"]
    rows = []
    for concurrency, sides in rates.items():
        first = sides["pipeline"]
        for name, one in sides.items():
            rate, tail = median(one.pages_per_s), percentile(one.latencies_s, 95)
            rows.append(
                [
                    f"{concurrency}",
                    name,
                    f"{rate:.2f} ({min(one.pages_per_s):.2f}-{max(one.pages_per_s):.2f})",
                    f"{percentile(one.latencies_s, 50):.2f}",
                    f"{tail:.2f}",
                    f"{len(one.lost)}",
                    ratio(rate, median(first.pages_per_s)),
                    ratio(tail, percentile(first.latencies_s, 95)),
                ]
            )
    return table(header, rows) if rows else ""


def ratio(value: float, first: float) -> str:
    """One over the other, if there is another."""
    return f"{value / first:.2f}" if first else ""


def percentile(values: Sequence[float], percent: int) -> float:
    """That of so many percent; of one value that one, of none nothing."""
    if len(values) < 2:
        return values[0] if values else float("nan")
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def singles_table(singles: Sequence[Single]) -> str:
    """Pages alone, in the order in which they were read: a side's memory never shrinks."""
    header = ["page", "side", "lines", "s", "Triton at the most, MiB", "what the client is told"]
    rows = [
        [
            one.page,
            one.side,
            f"{len(one.lines.texts)}",
            f"{one.seconds:.1f}",
            f"{one.peak_bytes / MIB:.0f}",
            shortened(one.lines.told),
        ]
        for one in singles
    ]
    return f"{table(header, rows)}\n\n{changes_told(singles)}" if rows else ""


def changes_told(singles: Sequence[Single]) -> str:
    """How many lines of the first page are read otherwise on the second, which has one line more."""
    told = []
    for side in dict.fromkeys(one.side for one in singles):
        first, second = [Counter(one.lines.texts) for one in singles if one.side == side][:2]
        told.append(f"{(first - second).total()} of {first.total()} through the {side}")
    return f"Lines of the first page that are read otherwise on the second, or not at all: {', '.join(told)}."


def failures_table(failures: Sequence[Failure]) -> str:
    """What a client gets."""
    header = ["what fails", "side", "lines", "s", "what the client is told"]
    rows = [
        [failure.what, name, f"{len(one.lines.texts)}", f"{one.seconds:.1f}", shortened(one.lines.told)]
        for failure in failures
        for name, one in failure.outcomes.items()
    ]
    return table(header, rows) if rows else ""


def shortened(told: str) -> str:
    """For a cell of a table."""
    one_line = " ".join(told.split()).replace("|", "/")
    return f"{one_line[:157]}..." if len(one_line) > 160 else one_line


@dataclass(frozen=True, slots=True)
class Bar:
    """One value.

    Attributes:
        label: what it is of.
        side: whose it is.
        value: and with its unit.
        text: as it is written.
    """

    label: str
    side: str
    value: float
    text: str


def plot(compared: Compared) -> str:
    """Pages a second, time and memory as bars, each group on a scale of its own, as SVG."""
    groups = [
        [Bar(f"{number} at a time", name, median(one.pages_per_s), f"{median(one.pages_per_s):.2f} pages/s")]
        for number, sides in compared.rates.items()
        for name, one in sides.items()
    ]
    rates = [bar for group in groups for bar in group]
    times = [Bar(f"{one.page}: time", one.side, one.seconds, f"{one.seconds:.1f} s") for one in compared.singles]
    memory = [
        Bar(f"{one.page}: peak memory", one.side, one.peak_bytes, f"{one.peak_bytes / MIB:.0f} MiB")
        for one in compared.singles
    ]
    parts = list(_bars([rates, times, memory]))
    height = TOP + (BAR + GAP / 2) * (len(rates) + len(times) + len(memory)) + 3 * GAP
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{height:.0f}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {STYLE}>'
    return "\n".join([opening, f'<rect {size} fill="white"/>', *parts, "</svg>\n"])


def _bars(groups: Sequence[Sequence[Bar]]) -> Iterator[str]:
    for number, (name, colour) in enumerate(COLOURS.items()):
        yield f'<rect x="{LEFT + 100 * number}" y="9" width="10" height="10" fill="{colour}"/>'
        yield f'<text x="{LEFT + 100 * number + 15}" y="18">{name}</text>'
    top = float(TOP)
    for group in groups:
        most = max((bar.value for bar in group), default=1.0)
        for bar in group:
            length = WIDTH * bar.value / most
            yield f'<text x="{LEFT - 8}" y="{top + BAR - 2:.1f}" text-anchor="end">{escape(bar.label)}</text>'
            yield f'<rect x="{LEFT}" y="{top:.1f}" width="{length:.1f}" height="{BAR}" fill="{COLOURS[bar.side]}"/>'
            yield f'<text x="{LEFT + length + 4:.1f}" y="{top + BAR - 2:.1f}" font-size="9">{escape(bar.text)}</text>'
            top += BAR + GAP / 2
        top += GAP
