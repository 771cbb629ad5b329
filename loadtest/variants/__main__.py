"""Speed and accuracy of other ways to run the models on a CPU, beside ONNX Runtime in float32.

make bench-variants
python -m loadtest.variants --variants openvino-bf16 --limit 20 --no-document
"""

import argparse
import asyncio
import importlib.metadata
import json
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from gateway.errors import OcrError
from gateway.inference.embedded import OnnxRuntime
from gateway.local import PairOptions, build_models
from gateway.ocr.elements import Page
from loadtest.accuracy.circumstances import ROOT, observe
from loadtest.accuracy.comparison import progress
from loadtest.accuracy.corpus import LabelledPage, first, read_labels, smallest_of_each_group
from loadtest.accuracy.errors import AccuracyError
from loadtest.accuracy.rapidocr_reader import prepare_environment
from loadtest.accuracy.readings import Line, Reading, Readings, read_in_turns
from loadtest.accuracy.scoring import count_pages, load_page_scorer
from loadtest.document import DocumentError, Markers, update_document
from loadtest.gpu.pages import spread
from loadtest.gpu.recording import Read, reader
from loadtest.terminal import say
from loadtest.variants.engines import OpenVino, VariantBackend, add_packages
from loadtest.variants.quantized import quantized_dynamically, quantized_statically, recorded
from loadtest.variants.report import Measured, measured, report
from triton_models.catalog import DEFAULT_MODEL_SET
from triton_models.server import LOOPBACK

DOCUMENT = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "results" / "variants"
CORPUS = ROOT.parent / "shared" / "corpus"
HOME = ROOT / ".local"
ENVIRONMENT = HOME / "variants"
BASELINE = "onnxruntime, float32"
CALIBRATION_PAGES = 6
"""Of those that carry no labels, so that nothing is calibrated with what it is judged by."""
EXIT_GOOD, EXIT_IMPOSSIBLE = 0, 2


def openvino(precision: str, repository: Path, _: Path) -> VariantBackend:
    """OpenVINO in this precision."""
    return VariantBackend(repository, OpenVino(precision))


def int8_dynamic(repository: Path, _: Path) -> VariantBackend:
    """ONNX Runtime with matrix products in eight bits."""
    return VariantBackend(quantized_dynamically(repository, HOME / "models" / "int8-dynamic"), OnnxRuntime())


def int8_static(repository: Path, corpus: Path) -> VariantBackend:
    """ONNX Runtime with everything that can be in eight bits."""
    unlabelled = spread(sorted((corpus / "images_nogt").iterdir()), CALIBRATION_PAGES)
    feeds = asyncio.run(recorded(repository, [path.read_bytes() for path in unlabelled]))
    return VariantBackend(quantized_statically(repository, HOME / "models" / "int8-static", feeds), OnnxRuntime())


VARIANTS: Mapping[str, Callable[[Path, Path], VariantBackend]] = {
    "openvino-f32": partial(openvino, "f32"),
    "openvino-bf16": partial(openvino, "bf16"),
    "onnxruntime-int8-dynamic": int8_dynamic,
    "onnxruntime-int8-static": int8_static,
}


class InProcess:
    """Reads with a pipeline in this process.

    Args:
        name: of the variant.
        read: reads one file's data.
        runner: of the event loop that the pipeline lives on.
    """

    def __init__(self, name: str, read: Read, runner: asyncio.Runner) -> None:
        self.name = name
        self._read = read
        self._runner = runner

    def read(self, image: Path) -> Reading:
        """Read one page; the time is the processor's, of all threads, as nothing else happens in this process."""
        started = time.process_time()
        try:
            page = self._runner.run(self._page(image.read_bytes()))
        except OcrError as error:
            return Reading(seconds=time.process_time() - started, error=f"{error.code}: {error}")
        return Reading(seconds=time.process_time() - started, lines=lines_of(page))

    async def _page(self, data: bytes) -> Page:
        return await self._read(data)


def lines_of(page: Page) -> tuple[Line, ...]:
    """The lines of a page that say something."""
    return tuple(
        Line.model_validate(
            {
                "quad": line.region.quad.tolist(),
                "text": line.transcription.text,
                "score": line.transcription.score,
            }
        )
        for line in page.lines
        if line.transcription is not None
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write it down."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser().parse_args(given)
    try:
        choose = smallest_of_each_group if options.sample else partial(first, options.limit)
        pages = choose(read_labels(options.corpus))
        readings = read_all(options, pages)
        found = judged(readings, pages, options.corpus)
        write(options, found, readings, shlex.join(["python", "-m", "loadtest.variants", *given]), len(pages))
    except (AccuracyError, DocumentError) as error:
        say(f"variants: {error}")
        return EXIT_IMPOSSIBLE
    return EXIT_GOOD


def parser() -> argparse.ArgumentParser:
    """The options."""
    top = argparse.ArgumentParser(
        prog="python -m loadtest.variants",
        description="Speed and accuracy of other ways to run the models on a CPU, beside ONNX Runtime in float32.",
        epilog="Exit code: 0 it was measured, 2 it could not be.",
    )
    top.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), help="(default: all)")
    some = top.add_mutually_exclusive_group()
    some.add_argument("--limit", type=int, metavar="N", help="only the first N pages of the corpus")
    some.add_argument("--sample", action="store_true", help="only the smallest page of each kind")
    top.add_argument("--corpus", type=Path, default=CORPUS, help="(default: %(default)s)")
    top.add_argument("--no-document", action="store_true", help="write results/variants alone")
    return top


def read_all(options: argparse.Namespace, pages: Sequence[LabelledPage]) -> Mapping[str, Readings]:
    """All pages by all variants and the baseline, page by page in turn."""
    prepare_environment(ENVIRONMENT, ROOT / "requirements" / "variants.txt", say)
    add_packages(ENVIRONMENT)
    repository = build_models(PairOptions("embedded", LOOPBACK, 0, DEFAULT_MODEL_SET, HOME))
    backends = {BASELINE: VariantBackend(repository, OnnxRuntime())}
    for name in options.variants:
        say(f"making {name}")
        backends[name] = VARIANTS[name](repository, options.corpus)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        readers = [InProcess(name, runner.run(opened(stack, one)), runner) for name, one in backends.items()]
        try:
            for one in readers:
                one.read(options.corpus / pages[0].file)
            return read_in_turns(readers, pages, options.corpus, progress(len(pages), say))
        finally:
            runner.run(stack.aclose())


async def opened(stack: AsyncExitStack, backend: VariantBackend) -> Read:
    """A pipeline over a backend whose models are loaded."""
    await backend.refresh()
    stack.push_async_callback(backend.close)
    return await stack.enter_async_context(reader(backend))


def judged(readings: Mapping[str, Readings], pages: Sequence[LabelledPage], corpus: Path) -> list[Measured]:
    """Every variant beside the baseline."""
    score_page = load_page_scorer(corpus / "score.py")
    counts = {name: count_pages(score_page, pages, by_file) for name, by_file in readings.items()}
    return [
        measured(name, readings[BASELINE], by_file, counts[BASELINE], counts[name])
        for name, by_file in readings.items()
        if name != BASELINE
    ]


def write(
    options: argparse.Namespace, found: Sequence[Measured], readings: Mapping[str, Readings], command: str, pages: int
) -> None:
    """JSON, Markdown, and the part of the document."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    circumstances = observe(
        command, DEFAULT_MODEL_SET, {name: importlib.metadata.version(name) for name in ("onnxruntime", "openvino")}
    )
    text = report(found, circumstances, pages)
    seconds = {name: {file: one.seconds for file, one in by_file.items()} for name, by_file in readings.items()}
    figures = {**asdict(circumstances), "variants": [asdict(one) for one in found], "seconds": seconds}
    (RESULTS / "variants.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    (RESULTS / "variants.md").write_text(text, encoding="utf-8")
    if not options.no_document:
        update_document(DOCUMENT, text, Markers.of("bench-variants"))
    print(text)


if __name__ == "__main__":
    # So that whoever ends this ends the processes that it started, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
