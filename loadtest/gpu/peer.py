"""rapidocr on the same GPU: `python -m loadtest.gpu.peer default|tuned MODELS PAGES SECONDS OUT`.

"default" is the library's configuration with CUDA turned on. "tuned" is what helps it with ONNX Runtime of today:
no classifier, 32 lines a batch, and the search that plans convolutions quickest, because every new shape is planned
anew. The library reads one page at a time; pages of a kind are read in turn for so many seconds, after one warm-up.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CUDA = {"Global.log_level": "error", "EngineConfig.onnxruntime.use_cuda": True}
TUNED = {
    "Global.use_cls": False,
    "Rec.rec_batch_num": 32,
    "EngineConfig.onnxruntime.cuda_ep_cfg.cudnn_conv_algo_search": "DEFAULT",
}


def read_for(engine: Callable[[str], object], pages: list[Path], seconds: float) -> dict[str, Any]:
    """Pages read one after another in about so many seconds, and the time of each."""
    times: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        page_started = time.perf_counter()
        engine(str(pages[len(times) % len(pages)]))
        times.append(round(time.perf_counter() - page_started, 3))
    return {"pages": len(times), "images_per_s": round(len(times) / sum(times), 2), "seconds": times}


def main(how: str, pages: Path, seconds: float, out: Path) -> None:
    """Measure and write."""
    import rapidocr  # type: ignore[import-not-found] # noqa: PLC0415 - only where it is installed

    engine = rapidocr.RapidOCR(params=CUDA | (TUNED if how == "tuned" else {}))
    figures = {}
    for kind in ("forms", "receipts"):
        files = sorted((pages / kind).iterdir())
        engine(str(files[0]))
        figures[kind] = read_for(engine, files, seconds)
    out.write_text(json.dumps({"how": how, "figures": figures}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
