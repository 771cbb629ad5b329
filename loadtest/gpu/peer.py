"""rapidocr on the same GPU: `python -m loadtest.gpu.peer default|tuned PROCESSES PAGES SECONDS OUT`.

"default" is the library's configuration with CUDA turned on. "tuned" is what helps it with ONNX Runtime of today:
no classifier, 32 lines a batch, and the search that plans convolutions quickest, because every new shape is planned
anew. The library reads one page at a time, so a service would run as many processes of it as the machine bears. Pages
of a kind are read in turn for so many seconds, by all processes at once, after one warm-up in each.
"""

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

CUDA = {"Global.log_level": "error", "EngineConfig.onnxruntime.use_cuda": True}
TUNED = {
    "Global.use_cls": False,
    "Rec.rec_batch_num": 32,
    "EngineConfig.onnxruntime.cuda_ep_cfg.cudnn_conv_algo_search": "DEFAULT",
}
KINDS = ("forms", "receipts")

Engine = Callable[[str], object]

_engine: list[Engine] = []
"""Of a process of a pool."""


def prepare(how: str, pages: list[Path]) -> None:
    """Make this process's engine and warm it up."""
    import rapidocr  # type: ignore[import-not-found] # noqa: PLC0415 - only where it is installed

    _engine.append(rapidocr.RapidOCR(params=CUDA | (TUNED if how == "tuned" else {})))
    for page in pages:
        _engine[0](str(page))


def ready() -> None:
    """Does nothing, once the process is prepared."""


def read_for(pages: list[Path], first: int, begin_at: float, seconds: float) -> list[float]:
    """The time of each page, read one after another from the first on, in about so many seconds."""
    time.sleep(max(0.0, begin_at - time.time()))
    times: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        page_started = time.perf_counter()
        _engine[0](str(pages[(first + len(times)) % len(pages)]))
        times.append(round(time.perf_counter() - page_started, 3))
    return times


def figures(times: list[list[float]]) -> dict[str, Any]:
    """What all processes did together; the time of each counts to the end of its last page."""
    return {
        "pages": sum(map(len, times)),
        "images_per_s": round(sum(len(own) / sum(own) for own in times), 2),
        "seconds": sorted(second for own in times for second in own),
    }


def main(how: str, processes: int, folder: Path, seconds: float, out: Path) -> None:
    """Measure and write."""
    pages = {kind: sorted((folder / kind).iterdir()) for kind in KINDS}
    first = (how, [files[0] for files in pages.values()])
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        pools = [
            stack.enter_context(ProcessPoolExecutor(1, mp_context=context, initializer=prepare, initargs=first))
            for _ in range(processes)
        ]
        for job in [pool.submit(ready) for pool in pools]:
            job.result()
        result = {}
        for kind, files in pages.items():
            begin_at = time.time() + 0.2
            jobs = [pool.submit(read_for, files, number, begin_at, seconds) for number, pool in enumerate(pools)]
            result[kind] = figures([job.result() for job in jobs])
    out.write_text(json.dumps({"how": how, "processes": processes, "figures": result}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
