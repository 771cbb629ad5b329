"""Reading golden pictures with models of certain names on one Triton, by the service's own pipeline."""

from collections.abc import Sequence

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.decoders.decoders import Decoders
from gateway.inference.backend import Backend
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.inference.channels import TritonTls
from gateway.inference.detector import Detector
from gateway.inference.triton import TritonBackend
from gateway.inference.watching import WatchOptions
from gateway.line_reader import LineReader
from gateway.metrics import StageTimes
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.elements import Page
from gateway.ocr.options import PageOptions
from gateway.pipeline import OcrPipeline
from gateway.rollout.golden import Golden, Reading

PICTURE_TIMEOUT_S = 120.0
ANSWER_TIMEOUT_S = 20.0
PATIENT = WatchOptions(quiet_ticks=100, silent_ticks=100, beat_timeout_s=ANSWER_TIMEOUT_S)
"""Nobody waits for an answer here, and a server that loads models on a busy machine may be silent for seconds."""


async def read_golden(
    address: str, golden: Sequence[Golden], *, prefix: str = "", tls: TritonTls | None = None
) -> list[Reading]:
    """What the models whose names begin with `prefix` make of each picture.

    Raises:
        OcrError: they are not served, or fail.
    """
    backend = await TritonBackend.connect(
        address,
        detection_model=f"{prefix}text_detection",
        recognition_model=f"{prefix}text_recognition",
        timeout_s=ANSWER_TIMEOUT_S,
        watch=PATIENT,
        tls=tls,
    )
    try:
        return await read_with(backend, golden)
    finally:
        await backend.close()


async def read_with(backend: Backend, golden: Sequence[Golden]) -> list[Reading]:
    """What a backend makes of each picture; errors as of `read_golden`."""
    batcher = Batcher(backend, BatchLimits())
    try:
        with CpuPool() as pool:
            lines = LineReader(backend, batcher, pool)
            detector = Detector(backend, calls_in_flight=1)
            pipeline = OcrPipeline(backend, detector, lines, pool, Decoders(pool, DecodeLimits()))
            return [reading(await _page(pipeline, one)) for one in golden]
    finally:
        await batcher.close()


def reading(page: Page) -> Reading:
    """Text and mean score of a page; a page without lines scores nothing."""
    scores = [line.transcription.score for line in page.lines if line.transcription]
    return Reading(page.text, sum(scores) / len(scores) if scores else 0.0)


async def _page(pipeline: OcrPipeline, golden: Golden) -> Page:
    deadline = Deadline.after(PICTURE_TIMEOUT_S)
    return await pipeline.read_first(golden.data, PageOptions(), deadline=deadline, times=StageTimes())
