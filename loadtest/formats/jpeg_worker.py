"""Reads JPEGs with whichever gateway is in its path, and tells how long that took; for `jpeg_speed`.

A line comes with what is to be done, a path and a number; one goes with as many times, in seconds of the processor.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fake_models import (  # type: ignore[import-not-found] # it comes with the path
    FakeModels,
    pipeline_on,
)

from gateway.deadline import Deadline
from gateway.metrics import StageTimes
from gateway.ocr.options import DetectionOptions, PageOptions

OPTIONS = PageOptions(detection=DetectionOptions(min_side=0))

decoders: Any = import_module("gateway.ocr.decoding")
"""A package now, a module before: what this reads with is not what it is checked with."""

Read = Callable[[bytes], Awaitable[object]]


async def serve() -> None:
    """Answer until nobody asks."""
    async with pipeline_on(FakeModels()) as pipeline:
        ways = {"decoding": decoding(), "the page": reading(pipeline)}
        for line in sys.stdin:
            print(json.dumps(await answer(ways, *json.loads(line))), flush=True)


async def answer(ways: Mapping[str, Read], what: str, path: str, count: int) -> list[float]:
    """The times of so many readings of a file."""
    return await times(ways[what], Path(path).read_bytes(), count)  # noqa: ASYNC240 - nothing else waits


async def times(read: Read, data: bytes, count: int) -> list[float]:
    """Seconds that each of so many readings took."""
    taken = []
    for _ in range(count):
        started = time.process_time()
        await read(data)
        taken.append(time.process_time() - started)
    return taken


def decoding() -> Read:
    """Header and pixels, as the gateway of this path has them; both would do it on a thread."""
    if hasattr(decoders, "count_pixels"):
        return _decoding_before(decoders.DecodeLimits())
    return _decoding_now(import_module("gateway.ocr.decoding.limits").DecodeLimits())


def _decoding_now(limits: object) -> Read:
    files = import_module("gateway.ocr.decoding.files")

    async def read(data: bytes) -> object:
        return files.decode_picture(files.open_picture(data, limits), limits)

    return read


def _decoding_before(limits: object) -> Read:
    """As it was up to commit e463b1a."""

    async def read(data: bytes) -> object:
        decoders.count_pixels(data, limits)
        return decoders.decode_image(data, limits)

    return read


def reading(pipeline: Any) -> Read:  # noqa: ANN401 - of either commit
    """From bytes to lines."""

    async def read(data: bytes) -> object:
        deadline, stage_times = Deadline.after(60), StageTimes()
        if hasattr(pipeline, "read_first"):
            return await pipeline.read_first(data, OPTIONS, deadline=deadline, times=stage_times)
        await pipeline.count_pixels(data, deadline=deadline, times=stage_times)
        return await pipeline.read(data, OPTIONS, deadline=deadline, times=stage_times)

    return read


if __name__ == "__main__":
    asyncio.run(serve())
