"""Real processes: what they answer, and what it costs when they die, hang or grow."""

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, closing
from pathlib import Path

import numpy as np
import psutil
import pytest
from made_files import pdf, saved, tiff
from PIL import Image

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.decoders.pool import DecoderPool, ProcessLimits
from gateway.errors import DeadlineExceeded, DecoderFailed, ImageTooLarge, UnreadableImage
from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DocumentOptions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has what decoder processes need")

OPTIONS = DocumentOptions(dpi=72)


class Service:
    """Decoders over a pool of processes, and what happens to these."""

    def __init__(self, pool, decoders):
        self.pool = pool
        self.decoders = decoders

    async def open(self, data, *, deadline=None):
        return await self.decoders.open(data, OPTIONS, deadline=deadline or Deadline.after(60))

    async def decode(self, data, number=1, *, deadline=None):
        file = await self.open(data)
        try:
            return await file.decode(number, deadline=deadline or Deadline.after(60))
        finally:
            file.close()

    @property
    def processes(self):
        """Those that live."""
        return [child for child in psutil.Process().children() if "gateway.decoders.child" in child.cmdline()]

    def hang(self):
        """Stop the only process; it is given."""
        [process] = self.processes
        os.kill(process.pid, signal.SIGSTOP)
        return process


@asynccontextmanager
async def service(*, processes=1, memory_bytes=2_000_000_000, timeout_s=30, limits=DecodeLimits()):  # noqa: B008
    pool = DecoderPool(ProcessLimits(processes, memory_bytes, timeout_s))
    with CpuPool(1) as threads, closing(pool):
        yield Service(pool, Decoders(threads, limits, pool))


@pytest.fixture(scope="module")
def slow():
    """A file that takes a good part of a second."""
    noise = np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), np.uint8)
    return saved(Image.fromarray(noise), "JPEG2000", irreversible=False)


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


async def at_work(decoding):
    """The process that has begun to decode."""
    [process] = decoding.processes
    before = process.cpu_times().user
    while process.cpu_times().user < before + 0.03:  # noqa: ASYNC110 - another process sets no event
        await asyncio.sleep(0.005)
    return process


async def test_a_process_gives_the_pixels_that_a_thread_would():
    async with service() as decoding:
        for data in (tiff((30, 20)), pdf((30, 20))):
            ours, theirs = decode_page(data, DecodeLimits(), 1, OPTIONS), await decoding.decode(data)
            assert (theirs.image == ours.image).all()
            assert (theirs.picture, theirs.warnings) == (ours.picture, ours.warnings)


async def test_pixels_that_came_from_a_process_may_be_written_to():
    async with service() as decoding:
        image = (await decoding.decode(tiff((30, 20)))).image
        image[0, 0] = 7
        assert image[0, 0].tolist() == [7, 7, 7]


async def test_any_page_of_a_document_may_be_asked_for():
    async with service(processes=2) as decoding:
        file = await decoding.open(tiff((4, 4), (6, 5), (8, 6)))
        assert file.info.page_pixels == (16, 30, 48)
        pages = await asyncio.gather(*(file.decode(number, deadline=Deadline.after(60)) for number in (3, 1, 2)))
        file.close()
        assert [page.image.shape[:2] for page in pages] == [(6, 8), (4, 4), (5, 6)]
        assert pages[0].image[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"II*\0 and nothing", UnreadableImage),
        (b"%PDF-1.7 and nothing", UnreadableImage),
        (tiff((300, 300)), ImageTooLarge),
    ],
)
async def test_errors_are_the_same_as_on_a_thread_and_cost_no_process(data, error):
    async with service(limits=DecodeLimits(max_pixels=10_000)) as decoding:
        for _ in range(2):
            with pytest.raises(error):
                await decoding.decode(data)
        assert len(decoding.processes) == 1


async def test_a_process_that_dies_over_a_file_costs_that_request_only(slow):
    async with service() as decoding:
        await decoding.decode(tiff((4, 4)))
        request = asyncio.create_task(decoding.decode(slow))
        (await at_work(decoding)).kill()
        with pytest.raises(DecoderFailed, match=r"the decoder ended over this file \(SIGKILL\)"):
            await request
        assert (await decoding.decode(tiff((5, 4)))).image.shape == (4, 5, 3)


@pytest.mark.parametrize("buried", [True, False])
async def test_a_process_that_dies_while_it_waits_costs_nobody_anything(buried):
    async with service() as decoding:
        await decoding.decode(tiff((4, 4)))
        [process] = decoding.processes
        process.kill()
        while buried and process.status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.001)
        assert (await decoding.decode(tiff((5, 4)))).image.shape == (4, 5, 3)


async def test_while_one_works_another_waits_for_whoever_comes_next():
    async with service(processes=2) as decoding:
        await decoding.decode(tiff((4, 4)))
        first, second = decoding.processes
        first.suspend()
        second.suspend()
        requests = [asyncio.create_task(decoding.decode(tiff((4, 4)))) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert {process.pid for process in decoding.processes} == {first.pid, second.pid}
        first.resume()
        second.resume()
        assert [answer.image.shape for answer in await asyncio.gather(*requests)] == [(4, 4, 3)] * 3


async def test_a_process_that_hangs_is_stopped_after_its_time():
    async with service(timeout_s=1) as decoding:
        await decoding.decode(tiff((4, 4)))
        process = decoding.hang()
        with pytest.raises(DecoderFailed, match="the page took it longer than 1 s"):
            await decoding.decode(tiff((4, 4)))
        process.wait(10)
        assert (await decoding.decode(tiff((5, 4)))).image.shape == (4, 5, 3)


async def test_a_deadline_that_passes_first_is_the_requests_own():
    async with service() as decoding:
        file = await decoding.open(tiff((4, 4)))
        decoding.hang()
        with pytest.raises(DeadlineExceeded):
            await file.decode(1, deadline=Deadline.after(0.05, from_client=True))
        file.close()


async def test_a_request_that_is_cancelled_ends_the_work(slow):
    async with service() as decoding:
        await decoding.decode(tiff((4, 4)))
        request = asyncio.create_task(decoding.decode(slow))
        process = await at_work(decoding)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        process.wait(10)


async def test_a_file_that_wants_more_memory_than_there_is_costs_that_request_only():
    async with service(memory_bytes=500_000_000) as decoding:
        with pytest.raises((ImageTooLarge, DecoderFailed)):
            await decoding.decode(tiff((7000, 7000)))
        assert (await decoding.decode(tiff((5, 4)))).image.shape == (4, 5, 3)


async def test_there_are_never_more_at_work_than_allowed():
    async with service(processes=2) as decoding:
        await asyncio.gather(*(decoding.decode(tiff((40, 40))) for _ in range(12)))
        assert len(decoding.processes) <= 2


async def test_nothing_is_left_behind():
    async with service() as warm:
        await warm.decode(tiff((4, 4)))
    before = descriptors()
    async with service(processes=2) as decoding:
        await asyncio.gather(*(decoding.decode(tiff((40, 40), (4, 4)), 2) for _ in range(5)))
        with pytest.raises(UnreadableImage):
            await decoding.decode(b"II*\0 and nothing")
        processes = decoding.processes
    assert descriptors() == before
    for process in processes:
        process.wait(10)


async def test_a_process_learns_none_of_the_gateways_secrets(monkeypatch):
    monkeypatch.setenv("OCR_API_KEYS", "secret")
    async with service() as decoding:
        await decoding.decode(tiff((4, 4)))
        [process] = decoding.processes
        assert not any(name.startswith("OCR_") for name in process.environ())


async def test_a_plain_jpeg_needs_no_process():
    async with service() as decoding:
        await decoding.decode(saved(Image.fromarray(np.zeros((4, 4, 3), np.uint8)), "JPEG"))
        assert decoding.processes == []
