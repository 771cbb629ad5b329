"""Recognition and detection by themselves, by bucket and rows: `python -m loadtest.gpu.sessions MODELS OUT`.

Every shape gets a session of its own, and all sessions are opened and warmed at once: planning the convolutions of a
shape takes seconds of one core and nothing of the GPU. Then they are timed one after another.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from loadtest.gpu.gpu_sessions import (
    ERRORS,
    LINE_HEIGHT,
    Array,
    Case,
    bound_run,
    graph_run,
    median_ms,
    on_gpu,
    open_session,
    random_input,
    timed_ms,
)
from triton_models.layouts import PER_SHAPE_SHAPES, recognition_shapes

SECONDS = 0.25
WARM_UP_THREADS = 12
FEW_LINES = ((320, 1), (320, 8), (320, 32), (640, 16), (2560, 4))
FEW_PAGES = ((736, 1152), (2016, 736), (1504, 2016))
WITH_GRAPH = {"enable_cuda_graph": "1"}
WITHOUT_TF32 = {"use_tf32": "0"}


@dataclass(frozen=True, slots=True)
class Warm:
    """A session that has planned its shape.

    Attributes:
        case: what it is for.
        session: of its own.
        feed: a random input.
        load_ms, first_ms: opening it, and its first run, while others did the same.
    """

    case: Case
    session: ort.InferenceSession
    feed: dict[str, Array]
    load_ms: float
    first_ms: float


def cases(models: Path) -> Iterator[Case]:
    """Everything that is compared."""
    small, tiny, half, original = (models / name for name in ("small", "tiny", "float16", "original"))
    every_line, every_page = tuple(recognition_shapes(PER_SHAPE_SHAPES)), PER_SHAPE_SHAPES.detection
    yield from edited("top1", small, every_line, every_page)
    yield from edited("tiny", tiny, FEW_LINES, FEW_PAGES)
    yield from edited("without TF32", small, FEW_LINES[:3], FEW_PAGES[:2], WITHOUT_TF32)
    yield from edited("CUDA graph", small, FEW_LINES, FEW_PAGES, WITH_GRAPH)
    if half.is_dir():
        yield from edited("float16", half, FEW_LINES, FEW_PAGES)
    lines, pages = model_file(original, "text_recognition*"), model_file(original, "text_detection*")
    yield from (Case("original", lines, (rows, 3, LINE_HEIGHT, width)) for width, rows in FEW_LINES)
    yield from (Case("original", pages, (1, 3, *page)) for page in FEW_PAGES)


def edited(
    label: str,
    repository: Path,
    lines: tuple[tuple[int, int], ...],
    pages: tuple[tuple[int, int], ...],
    options: Mapping[str, str] | None = None,
) -> Iterator[Case]:
    """Cases of an edited model set: lines as (width, rows), pages as (height, width)."""
    recognition = model_file(repository, "text_recognition*")
    detection = model_file(repository, "text_detection*")
    for width, rows in lines:
        yield Case(label, recognition, (rows, LINE_HEIGHT, width, 3), options or {})
    for page in pages:
        yield Case(label, detection, (1, *page, 3), options or {})


def model_file(repository: Path, pattern: str) -> Path:
    """The ONNX file of any model of this name; they all share it."""
    return next(iter(sorted(repository.glob(f"{pattern}/1/model.onnx"))))


def warm(case: Case) -> Warm:
    """Open a session and run it once."""
    started = time.perf_counter()
    session = open_session(case.file, case.options)
    load_ms = round(1000 * (time.perf_counter() - started), 1)
    feed = random_input(session, case.shape)
    if case.options == WITH_GRAPH and on_gpu():
        return Warm(case, session, feed, load_ms, 0.0)
    return Warm(case, session, feed, load_ms, timed_ms(lambda: session.run(None, feed)))


def measure(ready: Warm) -> dict[str, Any]:
    """The times of one case."""
    figures: dict[str, Any] = {
        "label": ready.case.label,
        "shape": ready.case.shape,
        "load_ms": ready.load_ms,
        "first_ms": ready.first_ms,
    }
    try:
        if ready.case.options == WITH_GRAPH and on_gpu():
            run = graph_run(ready.session, ready.feed)
            return figures | {"ms": median_ms(run, SECONDS)}
        figures["ms"] = median_ms(lambda: ready.session.run(None, ready.feed), SECONDS)
        if on_gpu():
            figures["gpu_ms"] = median_ms(bound_run(ready.session, ready.feed), SECONDS)
    except ERRORS as error:
        figures["error"] = str(error)[:400]
    return figures


def warm_or_error(case: Case) -> Warm | dict[str, Any]:
    """`warm`, or what went wrong."""
    try:
        return warm(case)
    except ERRORS as error:
        return {"label": case.label, "shape": case.shape, "error": str(error)[:400]}


def switching(models: Path) -> dict[str, list[dict[str, Any]]]:
    """One session for all shapes: the first and the second run at each shape, in turn."""
    recognition = model_file(models / "small", "text_recognition*")
    detection = model_file(models / "small", "text_detection*")
    lines = [(32, LINE_HEIGHT, 320, 3), (16, LINE_HEIGHT, 640, 3)] * 2
    pages = [(1, 736, 1152, 3), (1, 2016, 736, 3)] * 2
    return {
        name: alternate(file, shapes)
        for name, file, shapes in (("lines", recognition, lines), ("pages", detection, pages))
    }


def alternate(file: Path, shapes: Sequence[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Twice at each shape."""
    session = open_session(file, {})
    steps = []
    for shape in shapes:
        feed = random_input(session, shape)
        first, again = (timed_ms(lambda feed=feed: session.run(None, feed)) for _ in range(2))  # type: ignore[misc]
        steps.append({"shape": shape, "first_ms": first, "again_ms": again})
    return steps


def main(models: Path, out: Path) -> None:
    """Measure and write."""
    started = time.perf_counter()
    with ThreadPoolExecutor(WARM_UP_THREADS) as pool:
        opened = list(pool.map(warm_or_error, cases(models)))
    warm_up_s = time.perf_counter() - started
    figures = [measure(one) if isinstance(one, Warm) else one for one in opened]
    versions = {"onnxruntime": ort.__version__, "numpy": np.__version__}
    result = {"versions": versions, "warm_up_s": round(warm_up_s, 1), "cases": figures, "switching": switching(models)}
    out.write_text(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
