"""rapidocr and plain OpenCV: a script for the environment of requirements/peers.txt, which imports nothing of ours.

Each path that arrives as a line of JSON is answered with what both made of it:

    "..."  ->  {"rapidocr": {"lines": 3, "text": "..."}, "opencv": {"size": [640, 480]}}

What they raise is {"error": "..."} in the same place.
"""

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import rapidocr  # type: ignore[import-not-found] # it lives in another environment

MEMORY_BYTES = 8 << 30
"""Of addresses. Without a limit a gray picture of 1 x 1000 pixels takes all the memory that a machine has."""


def read(engine: rapidocr.RapidOCR, path: str) -> dict[str, object]:
    """By its path, as the library's users do."""
    output = engine(path)
    texts = output.txts or ()
    return {"lines": len(texts), "text": "\n".join(texts)}


def decode(path: str) -> dict[str, object]:
    """As most services decode."""
    pixels = cv2.imdecode(np.frombuffer(Path(path).read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    return {"error": "None"} if pixels is None else {"size": [pixels.shape[1], pixels.shape[0]]}


def tried(attempt: Callable[[], dict[str, object]]) -> dict[str, object]:
    """What it returns, or raises."""
    try:
        return attempt()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}


def main() -> None:
    """Answer until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    answers, sys.stdout = sys.stdout, sys.stderr
    engine = rapidocr.RapidOCR(params={"Global.log_level": "error"})
    for request in sys.stdin:
        path = json.loads(request)
        answer = {"rapidocr": tried(lambda: read(engine, path)), "opencv": tried(lambda: decode(path))}  # noqa: B023
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
