"""What the hot stages do for a page, counted and not timed: calls made by the gateway's code, and memory held at most.

Both are the same on every machine: a call is counted where code of the gateway makes it, whatever it does within, so
that other versions of libraries change next to nothing. A stage that begins to work line by line where it worked on
all lines at once, or that makes one more copy of a page, shows here; `tests/loadtest/test_hot_stages.py` compares with
what is recorded in hot_stages.json beside this file.

    python -m loadtest.stages.counts            (writes it anew, when a change is meant)
"""

import json
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import gateway
from gateway.arrays import Image, LineSteps, ProbabilityMap
from gateway.concurrency import CpuPool
from gateway.inference.batching import pad_rows
from gateway.inference.contract import RecognitionContract, RecognitionModel
from gateway.inference.messages import infer_request
from gateway.line_reader import cut_crops, decode_crops
from gateway.ocr.crops import plane_if_grey
from gateway.ocr.detection import prepare_detection
from gateway.ocr.elements import TextLine
from gateway.ocr.options import DetectionOptions, RecognitionOptions
from gateway.ocr.reading_order import reading_order
from gateway.ocr.regions import find_text_regions

RECORDED = Path(__file__).with_name("hot_stages.json")
LINES, LINE_PITCH, LINE_HEIGHT, LINE_LEFT, LINE_WIDTH = 50, 26, 14, 60, 800
PAGE = (1414, 1000)
BUCKET = 2560
CHARSET = ("", *"abcdefghijklmnopqrstuvwxyz ")
CONTRACT = RecognitionContract((RecognitionModel("recognition", "1"),), 48, (320, BUCKET), CHARSET)
_OURS = str(Path(gateway.__file__).parent)


@dataclass(frozen=True, slots=True)
class Counts:
    """What a stage did.

    Attributes:
        calls: made by the gateway's code.
        peak_kib: memory held at most beyond what was there before.
    """

    calls: int
    peak_kib: int


def count_stages() -> dict[str, Counts]:
    """The counts of each stage, for a page of 50 lines."""
    CpuPool(threads=1).close()  # OpenCV's own threads are off from here on
    return {name: count(work) for name, work in stages().items()}


def stages() -> Mapping[str, Callable[[], object]]:
    """The hot stages, ready to run on a made-up page."""
    image, options, reading = page(), DetectionOptions(), RecognitionOptions(space_probability=0.2)
    prepared = prepare_detection(image, options)
    found = find_text_regions(probability_map(prepared.tensor.shape[0], prepared.tensor.shape[1]), prepared, options)
    quads = [region.crop_quad for region in found.regions]
    crops = cut_crops(image, quads, CONTRACT)
    pieces = [piece for crop in crops for piece in crop.pieces]
    rows = pad_rows(pieces[:4], CONTRACT, BUCKET)
    lines = [TextLine(region).region.quad for region in found.regions]
    seen = probability_map(prepared.tensor.shape[0], prepared.tensor.shape[1])
    return {
        "prepare": lambda: prepare_detection(image, options),
        "regions": lambda: find_text_regions(seen, prepared, options),
        "crops": lambda: cut_crops(plane_if_grey(image), quads, CONTRACT),
        "pad": lambda: pad_rows(pieces[:4], CONTRACT, BUCKET),
        "message": lambda: infer_request("recognition", {"crops": rows}, ("class_index",), ""),
        "ctc": lambda: decode_crops(crops, [steps() for _ in pieces], CHARSET, reading),
        "order": lambda: reading_order(lines),
    }


def page() -> Image:
    """A white page; what is on it costs nothing."""
    return np.full((*PAGE, 3), 255, np.uint8)


def probability_map(height: int, width: int) -> ProbabilityMap:
    """50 lines, each a little longer than the one before."""
    found = np.zeros((height, width), np.uint8)
    for line in range(LINES):
        top = LINE_LEFT + line * LINE_PITCH
        found[top : top + LINE_HEIGHT, LINE_LEFT : LINE_LEFT + LINE_WIDTH - 4 * line] = 255
    return found


def steps() -> LineSteps:
    """A line of 40 characters."""
    class_index = np.zeros(BUCKET // 8, np.int32)
    class_index[: 2 * 40 : 2] = np.arange(40) % (len(CHARSET) - 2) + 1
    return LineSteps(class_index, np.ones(len(class_index), np.float32), np.zeros(len(class_index), np.float32))


def count(work: Callable[[], object]) -> Counts:
    """Run it three times: once to warm up, once for calls, once for memory."""
    work()
    return Counts(count_calls(work), peak_kib(work))


def count_calls(work: Callable[[], object]) -> int:
    """How many calls code of the gateway makes; those to comprehensions, which newer Pythons inline, don't count."""
    calls = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        caller = frame.f_back if event == "call" else frame
        if event == "call" and frame.f_code.co_name.startswith("<"):
            return
        calls += event in {"call", "c_call"} and caller is not None and is_ours(caller.f_code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def is_ours(code: CodeType) -> bool:
    """Whether it is the gateway's."""
    return code.co_filename.startswith(_OURS)


def peak_kib(work: Callable[[], object]) -> int:
    """The most memory that it holds beyond what there was, in KiB; NumPy's and OpenCV's arrays included."""
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        held = tracemalloc.get_traced_memory()[0]
        work()
        return (tracemalloc.get_traced_memory()[1] - held) // 1024
    finally:
        if not tracing:
            tracemalloc.stop()


def read_recorded() -> dict[str, Counts]:
    """What was recorded."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {name: Counts(**counts) for name, counts in recorded.items()}


if __name__ == "__main__":
    counted = {name: asdict(counts) for name, counts in count_stages().items()}
    RECORDED.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(counted, indent=1))
