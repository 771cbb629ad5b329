"""The widths of all lines of the corpus, as they are cut for the recogniser; kept in docs/performance/widths.json."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateway.deadline import Deadline
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.triton import TritonBackend
from gateway.metrics import StageTimes
from gateway.ocr.geometry import quad_size
from gateway.ocr.options import PageOptions
from loadtest.stages.measure import pipeline
from loadtest.stages.measured_pool import MeasuredPool

PAGE_TIMEOUT_S = 600.0


def measure(address: str, images: Sequence[Path], line_height: int = 48) -> dict[str, list[int]]:
    """The widths by name of file. Only looked for, not read: what is read a second time is not counted again."""
    return asyncio.run(_measure(address, images, line_height))


async def _measure(address: str, images: Sequence[Path], line_height: int) -> dict[str, list[int]]:
    backend = await TritonBackend.connect(address)
    pool, batcher = MeasuredPool(), Batcher(backend, BatchLimits())
    reader, options = pipeline(backend, batcher, pool), PageOptions(recognize=False)
    widths = {}
    for path in images:
        deadline = Deadline.after(PAGE_TIMEOUT_S)
        page = await reader.read_first(path.read_bytes(), options, deadline=deadline, times=StageTimes())
        sizes = (quad_size(line.region.crop_quad) for line in page.lines)
        widths[path.name] = [
            max(1, round(float(width) / max(float(height), 1.0) * line_height)) for width, height in sizes
        ]
    await batcher.close()
    await backend.close()
    pool.close()
    return widths


def write(widths: Mapping[str, Sequence[int]], path: Path) -> None:
    """One page a line."""
    lines = (f"{json.dumps(name)}: {json.dumps(sorted(line))}" for name, line in sorted(widths.items()))
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read(path: Path) -> dict[str, list[int]]:
    """What `write` wrote."""
    widths: dict[str, list[int]] = json.loads(path.read_text(encoding="utf-8"))
    return widths
