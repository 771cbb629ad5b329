"""Where the GPU's time goes inside a model: `python -m loadtest.gpu.kernels REPOSITORY OUT`.

ONNX Runtime's own profile has the times of launches. What the kernels take comes from CUPTI, which PyTorch's profiler
records for the whole process, whoever launched them.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loadtest.gpu.gpu_sessions import LINE_HEIGHT, open_session, random_input
from loadtest.gpu.sessions import model_file

RUNS = 10
LISTED = 16
SHAPES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "recognition": ("text_recognition*", (32, LINE_HEIGHT, 320, 3)),
    "detection": ("text_detection*", (1, 1024, 768, 3)),
}
FAMILIES = {
    "biases, added by cuDNN": r"op_generic_tensor",
    "depthwise convolutions": r"depthwise|conv2d_grouped|c1_k1",
    "change of layout": r"nchwToNhwc|nhwcToNchw|nchw.*nhwc|transpose",
    "convolutions and products": r"gemm|xmma|cutlass|nvjet|winograd|conv|dgrad|splitK",
    "softmax and top 1": r"softmax|topk",
    "means": r"reduce|pool|layernorm",
    "copies": r"memcpy|memset|concat|slice|gather|cast|resize",
    "arithmetic by element": r"",
}
"""Names of kernels by what they do; the first that matches counts."""


def family_of(kernel: str) -> str:
    """What a kernel does, by its name."""
    return next(name for name, pattern in FAMILIES.items() if re.search(pattern, kernel, re.IGNORECASE))


def families(kernels: Iterable[tuple[str, float, int]]) -> dict[str, dict[str, float]]:
    """Microseconds and launches of a run by family, from (name, microseconds, launches) of each kernel."""
    microseconds: Counter[str] = Counter()
    launches: Counter[str] = Counter()
    for name, taken_us, count in kernels:
        microseconds[family_of(name)] += taken_us  # type: ignore[assignment] # a Counter of floats works as well
        launches[family_of(name)] += count
    return {name: {"us": round(taken, 1), "launches": launches[name]} for name, taken in microseconds.most_common()}


def profile(file: Path, shape: tuple[int, ...]) -> dict[str, Any]:
    """The kernels of one warm run, the longest first."""
    import torch  # type: ignore[import-not-found] # noqa: PLC0415 - the machine has it

    torch.cuda.init()
    session = open_session(file, {})
    feed = random_input(session, shape)
    for _ in range(3):
        session.run(None, feed)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(RUNS):
            session.run(None, feed)
    kernels = [(one.key, one.device_time_total / RUNS, one.count // RUNS) for one in profiler.key_averages()]
    kernels = sorted((one for one in kernels if one[1]), key=lambda kernel: -kernel[1])
    return {
        "shape": shape,
        "us": round(sum(taken for _, taken, _ in kernels), 1),
        "families": families(kernels),
        "longest": [(name[:120], round(taken, 1), count) for name, taken, count in kernels[:LISTED]],
    }


def main(repository: Path, out: Path) -> None:
    """Measure and write."""
    out.write_text(
        json.dumps({name: profile(model_file(repository, pattern), shape) for name, (pattern, shape) in SHAPES.items()})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
