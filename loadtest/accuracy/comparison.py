"""One comparison from the first page to the last file: read this to see the order of things."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

from loadtest.accuracy.chart import BarRow, bar_chart
from loadtest.accuracy.circumstances import ROOT, Circumstances, observe
from loadtest.accuracy.corpus import Chooser, LabelledPage, read_labels, write_labels
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.floors import Verdict, judge
from loadtest.accuracy.gateway_reader import GatewayReader
from loadtest.accuracy.local_gateway import local_gateway
from loadtest.accuracy.rapidocr_reader import RapidocrReader, prepare_environment
from loadtest.accuracy.readings import (
    Progress,
    Reader,
    Reading,
    Readings,
    read_in_turns,
    without_inferred_spaces,
    write_predictions,
)
from loadtest.accuracy.report import Scored, comparison_report, quick_report
from loadtest.accuracy.scoring import TOTAL, count_pages, load_page_scorer, require_agreement, score_table
from loadtest.document import Markers, update_document
from triton_models.catalog import MODEL_SETS

CHART = "accuracy.svg"
BARE = "gateway_without_inferred_spaces"
MARKERS = Markers.of("accuracy")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    Attributes:
        command: how it was asked, for the report.
        gateway: address of a running gateway; None to start one.
        corpus: folder with labels, images and `score.py`.
        choose: the pages to read, from all of them.
        beside_library: whether rapidocr reads, too.
        floors: what these pages must reach; none if they are too few to judge by.
        out: folder for predictions and figures.
        document: Markdown file whose generated part is written anew, or None.
    """

    command: str
    gateway: str | None
    corpus: Path
    choose: Chooser
    beside_library: bool
    floors: Mapping[str, float]
    out: Path
    document: Path | None


@dataclass(frozen=True, slots=True)
class Session:
    """Who reads, and under what circumstances."""

    readers: Sequence[Reader]
    circumstances: Circumstances


def run(options: Options, say: Say) -> bool:
    """Read, score, write and print; whether every page was answered and every floor holds.

    Raises:
        AccuracyError: the comparison could not be made.
    """
    pages = options.choose(read_labels(options.corpus))
    if not pages:
        raise AccuracyError("no page was chosen")
    options.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        session = open_session(options, options.corpus / pages[0].file, stack, say)
        readings = read_in_turns(session.readers, pages, options.corpus, progress(len(pages), say))
    if options.beside_library:
        readings[BARE] = without_inferred_spaces(readings[GatewayReader.name])
    scored = score(options, pages, readings)
    gateway, library = scored[GatewayReader.name], scored.get(RapidocrReader.name)
    floor_setter = None if library is None else library.table[TOTAL]
    verdicts = judge(options.floors, gateway.table[TOTAL], floor_setter) if options.floors else []
    if library is None:
        report = quick_report(session.circumstances, pages, gateway, verdicts)
    else:
        bare = scored[BARE]
        report = comparison_report(session.circumstances, pages, library, gateway, verdicts, bare=bare, chart=CHART)
        write_chart(options, draw(library, gateway))
    write_results(options, session.circumstances, scored, verdicts, report)
    print(report)
    return all(verdict.holds for verdict in verdicts) and not gateway.failed


def open_session(options: Options, image: Path, stack: ExitStack, say: Say) -> Session:
    """Start what does not run yet; everybody reads one image, so that no page pays for the loading of models."""
    address = options.gateway or stack.enter_context(local_gateway(options.out / "gateway.log", say))
    # trust_env: a proxy of the environment has no part in this.
    gateway = GatewayReader(stack.enter_context(httpx.Client(base_url=address, trust_env=False)))
    model_set = gateway.model_set(image)
    if not options.beside_library:
        return Session([gateway], observe(options.command, model_set, {}))
    python = prepare_environment(ROOT / ".local" / "peers", ROOT / "requirements" / "peers.txt", say)
    library = stack.enter_context(RapidocrReader(python))
    require_same_weights(model_set, library.description.weights)
    library.read(image)
    return Session([library, gateway], observe(options.command, model_set, library.description.versions))


def require_same_weights(model_set: str, weights: Mapping[str, str]) -> None:
    """Both must read with the same files.

    Raises:
        AccuracyError: the gateway serves models that the library does not carry.
    """
    served = MODEL_SETS.get(model_set)
    if served is None or not {served.detection.sha256, served.recognition.sha256} <= set(weights.values()):
        raise AccuracyError(f"the gateway serves {model_set}, but rapidocr reads with {', '.join(weights)}")


def progress(page_count: int, say: Say) -> Progress:
    """A line for each page: who took how long."""

    def report(number: int, page: LabelledPage, readings: Mapping[str, Reading]) -> None:
        times = ", ".join(
            f"{name} {'failed' if reading.error else f'{reading.seconds:.2f} s'}" for name, reading in readings.items()
        )
        say(f"{number:4d}/{page_count}  {page.stem}: {times}")

    return report


def score(options: Options, pages: Sequence[LabelledPage], readings: Mapping[str, Readings]) -> dict[str, Scored]:
    """Write the predictions and score them."""
    labels, scorer = options.out / "labels.jsonl", options.corpus / "score.py"
    write_labels(pages, labels)
    score_page = load_page_scorer(scorer)
    scored = {}
    for name, by_file in readings.items():
        predictions = options.out / f"{name}.jsonl"
        write_predictions(by_file, predictions)
        table, counts = score_table(scorer, labels, predictions), count_pages(score_page, pages, by_file)
        require_agreement(table, counts)
        scored[name] = Scored(name, by_file, table, counts)
    return scored


def draw(library: Scored, gateway: Scored) -> str:
    """The page score of every kind of image that has one."""
    pairs = [(group, library.table[group]["page_score"], row["page_score"]) for group, row in gateway.table.items()]
    rows = [BarRow(group, (old, new)) for group, old, new in pairs if old is not None and new is not None]
    return bar_chart(rows, (library.name, gateway.name))


def write_chart(options: Options, chart: str) -> None:
    """Beside each of the reports."""
    for folder in filter(None, (options.out, options.document and options.document.parent)):
        (folder / CHART).write_text(chart, encoding="utf-8")


def write_results(
    options: Options,
    circumstances: Circumstances,
    scored: Mapping[str, Scored],
    verdicts: Sequence[Verdict],
    report: str,
) -> None:
    """The figures as JSON, the report, and the document."""
    figures = {
        **asdict(circumstances),
        "tables": {name: one.table for name, one in scored.items()},
        "floors": [{**asdict(verdict), "holds": verdict.holds} for verdict in verdicts],
    }
    (options.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    (options.out / "report.md").write_text(report, encoding="utf-8")
    if options.document is not None:
        update_document(options.document, report, MARKERS)
