"""What decoding takes, on a thread and in a process; `python -m loadtest.formats.speed`.

It backs docs/decisions/0019-decoder-processes.md: what a process costs beside the decoding itself. The ways take turns,
so that the machine is in the same mood for all of them, and the best of many times counts.
"""

import asyncio
import io
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import cv2
import numpy as np
from PIL import Image

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.decoders.messages import Question
from gateway.decoders.pool import DecoderPool, ProcessLimits
from gateway.decoders.shared_memory import share
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DocumentOptions

SIDE = 1000
TIMES = 30
LIMITS = DecodeLimits()
OPTIONS = DocumentOptions(dpi=72)
WAYS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "JPEG": ("JPEG", {"quality": 85}),
    "PNG": ("PNG", {}),
    "WebP": ("WEBP", {"quality": 85}),
    "BMP": ("BMP", {}),
    "TIFF, LZW": ("TIFF", {"compression": "tiff_lzw"}),
    "GIF": ("GIF", {}),
    "AVIF": ("AVIF", {"quality": 75}),
    "JPEG 2000": ("JPEG2000", {}),
    "PDF with a JPEG": ("PDF", {"resolution": 72}),
}

Way = Callable[[], Awaitable[object]]


async def main() -> None:
    """Print a table."""
    pool = DecoderPool(ProcessLimits(1, 2_000_000_000, 30))
    print("| a megapixel as | on a thread | in a process | the process costs |\n|---|---|---|---|")
    with CpuPool(1) as threads:
        for name, (file_type, options) in WAYS.items():
            data = photo(file_type, **options)
            thread, process = await best_times([on_a_thread(threads, data), in_a_process(pool, data)])
            print(f"| {name} | {thread:.2f} ms | {process:.2f} ms | {process - thread:+.2f} ms |")
    pool.close()


def photo(file_type: str, **options: object) -> bytes:
    """A picture that is as smooth as photographs are."""
    coarse = np.random.default_rng(0).integers(0, 256, (SIDE // 10, SIDE // 10, 3), np.uint8)
    picture = Image.fromarray(cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC))
    file = io.BytesIO()
    picture.save(file, file_type, **options)
    return file.getvalue()


def on_a_thread(threads: CpuPool, data: bytes) -> Way:
    """As the gateway decodes common types: its header, then its pixels."""
    decoders = Decoders(threads, LIMITS)

    async def way() -> object:
        deadline = Deadline.after(60)
        file = await decoders.open(data, OPTIONS, deadline=deadline)
        return await file.decode(1, deadline=deadline)

    return way


def in_a_process(pool: DecoderPool, data: bytes) -> Way:
    """As it decodes the other ones; here for all."""

    async def way() -> object:
        deadline = Deadline.after(60)
        shared = share([memoryview(data)])
        try:
            await pool.ask(Question("inspect", LIMITS, OPTIONS), shared, deadline=deadline)
            return await pool.ask(Question("decode", LIMITS, OPTIONS), shared, deadline=deadline)
        finally:
            os.close(shared)

    return way


async def best_times(ways: Sequence[Way]) -> list[float]:
    """Milliseconds that each takes at its best."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(TIMES):
        for way, taken in zip(ways, times, strict=True):
            started = time.perf_counter()
            await way()
            taken.append(1000 * (time.perf_counter() - started))
    return [min(taken) for taken in times]


if __name__ == "__main__":
    asyncio.run(main())
