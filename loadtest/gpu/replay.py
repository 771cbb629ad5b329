"""The models alone, as the service calls them but without it: recorded tensors over gRPC, chunks as full as can be.

The lines of all pages of a kind are pooled and cut into full chunks, which is the best that batching across requests
can do. A set is one detection per page and those chunks; client processes work through it again and again, with so
many calls under way. Pages a second of this are what the service could reach if it were free.
"""

import asyncio
import multiprocessing
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gateway.arrays import Image, Rows
from gateway.inference.batching import chunk_rows, pad_rows
from gateway.inference.contract import RecognitionContract
from gateway.inference.triton import TritonBackend
from loadtest.gpu.recording import RecordingBackend, line_width, reader

MAX_CHUNK_PIXELS = 32 * 48 * 320
CALL_TIMEOUT_S = 30.0
START_UP_S = 3.0
"""Until all processes have begun; only then they all work at the same time."""


@dataclass(frozen=True, slots=True)
class Work:
    """The calls that read a set of pages.

    Attributes:
        pages: how many.
        detections: tensors of the detector.
        chunks: of the recogniser.
    """

    pages: int
    detections: list[Image]
    chunks: list[Rows]

    def mixed(self, seed: int) -> list[tuple[str, Image | Rows]]:
        """All calls in some order, so that both models are asked all the time."""
        calls: list[tuple[str, Image | Rows]] = [("detect", tensor) for tensor in self.detections]
        calls += [("recognize", rows) for rows in self.chunks]
        random.Random(seed).shuffle(calls)
        return calls


async def record(address: str, pages: Sequence[Path]) -> Work:
    """Read each page once and make the work of them all."""
    backend = RecordingBackend(await TritonBackend.connect(address))
    async with reader(backend) as read:
        for page in pages:
            await read(page.read_bytes())
    work = Work(
        len(pages),
        backend.asked.detections,
        list(full_chunks(backend.asked.lines, backend.contract.recognition)),
    )
    await backend.close()
    return work


def full_chunks(lines: Sequence[Image], contract: RecognitionContract) -> Iterator[Rows]:
    """The lines, sent in their buckets, in as few chunks as can be."""
    for bucket_width in contract.buckets:
        crops = [line[:, : line_width(line)] for line in lines if line.shape[1] == bucket_width]
        rows = chunk_rows(contract, bucket_width, max_pixels=MAX_CHUNK_PIXELS)
        for start in range(0, len(crops), rows):
            yield pad_rows(crops[start : start + rows], contract, bucket_width)


def save(work: Work, path: Path) -> None:
    """Write it for other processes."""
    arrays = {f"d{index}": tensor for index, tensor in enumerate(work.detections)}
    arrays |= {f"c{index}": rows for index, rows in enumerate(work.chunks)}
    np.savez(path, allow_pickle=False, pages=np.array(work.pages), **arrays)


def load(path: Path) -> Work:
    """What `save` wrote."""
    with np.load(path) as file:
        named = {name: file[name] for name in file.files}
    return Work(
        int(named["pages"]),
        [array for name, array in named.items() if name.startswith("d")],
        [array for name, array in named.items() if name.startswith("c")],
    )


def pages_per_second(address: str, path: Path, *, processes: int, calls_in_flight: int, seconds: float) -> float:
    """How fast the saved work gets done by so many processes with so many calls under way each."""
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as executor:
        begin_at = time.time() + START_UP_S
        shares = [Share(address, path, seed, calls_in_flight, begin_at, seconds) for seed in range(processes)]
        jobs = [executor.submit(replay, share) for share in shares]
        return round(sum(job.result() for job in jobs), 1)


@dataclass(frozen=True, slots=True)
class Share:
    """What one process does.

    Attributes:
        address: of Triton.
        path: of the saved work.
        seed: of the order of calls.
        calls_in_flight: at once.
        begin_at: when all processes begin, on the wall clock.
        seconds: for how long.
    """

    address: str
    path: Path
    seed: int
    calls_in_flight: int
    begin_at: float
    seconds: float


def replay(share: Share) -> float:
    """Do it; pages a second."""
    return asyncio.run(_replay(share, load(share.path)))


async def _replay(share: Share, work: Work) -> float:
    calls = work.mixed(share.seed)
    backend = await TritonBackend.connect(share.address)
    done = 0
    await asyncio.sleep(share.begin_at - time.time())

    async def call_one_after_another(first: int) -> None:
        nonlocal done
        index = first
        while time.perf_counter() < end:
            kind, tensor = calls[index % len(calls)]
            call = backend.detect if kind == "detect" else backend.recognize
            await call(tensor, timeout_s=CALL_TIMEOUT_S)
            done += 1
            index += share.calls_in_flight

    started = time.perf_counter()
    end = started + share.seconds
    await asyncio.gather(*(call_one_after_another(first) for first in range(share.calls_in_flight)))
    elapsed = time.perf_counter() - started
    await backend.close()
    return work.pages * done / len(calls) / elapsed
