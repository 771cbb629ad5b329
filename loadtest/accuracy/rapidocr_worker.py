"""The library's side of the comparison: a process of its own, in the environment of requirements/peers.txt.

It is started as a script (`.local/peers/bin/python rapidocr_worker.py`), because it must not import anything of
this project, and talks in JSON, one object a line. First it says what it is made of:

    {"versions": {"rapidocr": "3.10.0", ...}, "weights": {"PP-OCRv6_det_small.onnx": sha256, ...}}

then it answers each path that arrives with the lines of that image, in the upright frame, and the time it took:

    {"path": "..."}  ->  {"seconds": 1.25, "lines": [{"quad": [[x, y] * 4], "text": "...", "score": 0.98}, ...]}

Settings are the library's defaults, but for the log's level. Connections are refused: the weights come with the
wheel, and a run that fetched others would measure something else.
"""

import hashlib
import importlib.metadata
import json
import sys
import time
from pathlib import Path

import rapidocr  # type: ignore[import-not-found] # it lives in another environment

PACKAGES = ("rapidocr", "onnxruntime", "opencv-python-headless", "numpy")


def refuse_connections(event: str, _arguments: tuple[object, ...]) -> None:
    """An audit hook under which no socket connects."""
    if event in {"socket.connect", "socket.getaddrinfo"}:
        raise PermissionError("the comparison reads with the weights of the wheel and downloads nothing")


def describe() -> dict[str, dict[str, str]]:
    """The versions of the packages that matter, and the SHA-256 of the weights in the wheel."""
    models = sorted((Path(rapidocr.__file__).parent / "models").glob("*.onnx"))
    return {
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "weights": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in models},
    }


def read(engine: rapidocr.RapidOCR, path: str) -> dict[str, object]:
    """Read one image. A path, not bytes: only for a path does the library apply EXIF."""
    start = time.perf_counter()
    output = engine(path)
    seconds = time.perf_counter() - start
    found = zip(output.boxes, output.txts, output.scores, strict=True) if output.txts else ()
    lines = [{"quad": quad.tolist(), "text": text, "score": float(score)} for quad, text, score in found]
    return {"seconds": seconds, "lines": lines}


def main() -> None:
    """Answer requests until the input ends."""
    sys.addaudithook(refuse_connections)
    answers, sys.stdout = sys.stdout, sys.stderr
    engine = rapidocr.RapidOCR(params={"Global.log_level": "error"})
    print(json.dumps(describe()), file=answers, flush=True)
    for request in sys.stdin:
        print(json.dumps(read(engine, json.loads(request)["path"])), file=answers, flush=True)


if __name__ == "__main__":
    main()
