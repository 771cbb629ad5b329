"""What options of ONNX Runtime and other forms of a graph change: `python -m loadtest.gpu.providers REPOSITORY OUT`.

Each is tried on a full chunk of lines and on a form, in a session of its own; all are warmed up at once.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

from loadtest.gpu.gpu_sessions import LINE_HEIGHT, Case
from loadtest.gpu.graphs import means_by_reduction, means_in_two_steps
from loadtest.gpu.sessions import WARM_UP_THREADS, Warm, measure, model_file, warm_or_error

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "as served": {},
    "EXHAUSTIVE": {"cudnn_conv_algo_search": "EXHAUSTIVE"},
    "NHWC": {"prefer_nhwc": "1"},
    "fused bias": {"fuse_conv_bias": "1"},
    "NHWC, fused bias": {"prefer_nhwc": "1", "fuse_conv_bias": "1"},
    "NHWC, EXHAUSTIVE": {"prefer_nhwc": "1", "cudnn_conv_algo_search": "EXHAUSTIVE"},
    "bias apart": {"optimization.disable_specified_optimizers": "ConvAddFusion"},
    "bias apart, NHWC": {"optimization.disable_specified_optimizers": "ConvAddFusion", "prefer_nhwc": "1"},
}
GRAPHS: Mapping[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "means by reduction": means_by_reduction,
    "means in two steps": means_in_two_steps,
}
WITH_GRAPHS: Mapping[str, Mapping[str, str]] = {"": {}, ", bias apart": OPTIONS["bias apart"]}
LINES = (32, LINE_HEIGHT, 320, 3)
FORM = (1, 1024, 768, 3)


def cases(repository: Path, folder: Path) -> Iterator[Case]:
    """Every option on both models, and every form of their graphs."""
    for kind, shape in (("recognition", LINES), ("detection", FORM)):
        file = model_file(repository, f"text_{kind}*")
        yield from (Case(label, file, shape, options) for label, options in OPTIONS.items())
        for label, change in GRAPHS.items():
            changed = folder / f"{kind}-{label}.onnx"
            onnx.save(change(onnx.load(file)), changed)
            yield from (Case(label + and_, changed, shape, options) for and_, options in WITH_GRAPHS.items())


def main(repository: Path, out: Path) -> None:
    """Measure and write."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WARM_UP_THREADS) as pool:
        opened = list(pool.map(warm_or_error, cases(repository, Path(folder))))
    out.write_text(json.dumps([measure(one) if isinstance(one, Warm) else one for one in opened]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
