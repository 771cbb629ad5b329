import numpy as np
import pytest
from fake_models import Bar, FakeModels, line_reader_on, picture

from gateway.concurrency import CpuPool
from gateway.deadline import Deadline
from gateway.inference.batcher import Batcher, BatchLimits
from gateway.line_reader import LineReader
from gateway.metrics import StageTimes
from gateway.ocr.options import RecognitionOptions
from gateway.ocr.portions import PORTION_PIXELS

REREADING = RecognitionOptions()
UPRIGHT = Bar(40, 40, 200, 30, "a")
OTHER = Bar(40, 140, 200, 30, "b")


@pytest.fixture
def models():
    return FakeModels()


def quad_of(bar, margin=6):
    left, top = bar.left - margin, bar.top - margin
    right, bottom = bar.left + bar.width + margin, bar.top + bar.height + margin
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def upside_down(quad):
    """The quad of a line that was taken to be upright although it is not."""
    return np.roll(quad, 2, axis=0)


async def read(models, image, quads, options=REREADING, times=None):
    async with line_reader_on(models) as reader:
        return await reader.read(image, quads, options, deadline=Deadline.after(60), times=times or StageTimes())


def summary(read_lines):
    return [(reading.turned, reading.transcription.text) for reading in read_lines.readings]


def rows(models):
    return sum(count for count, *_ in models.chunks)


async def test_without_lines_there_is_nothing_to_read_and_no_call(models):
    read_lines = await read(models, picture(), [])
    assert (read_lines.readings, read_lines.split, read_lines.turned) == ((), 0, 0)
    assert models.chunks == []


async def test_each_line_gets_its_reading_in_the_order_of_the_quads(models):
    quads = [quad_of(OTHER), quad_of(UPRIGHT)]
    assert summary(await read(models, picture(UPRIGHT, OTHER), quads)) == [(0, "b"), (0, "a")]
    assert rows(models) == 2


async def test_a_doubtful_line_is_read_the_other_way_up_and_the_better_reading_wins(models):
    quads = [upside_down(quad_of(UPRIGHT)), quad_of(OTHER), quad_of(OTHER)]
    assert summary(await read(models, picture(UPRIGHT, OTHER), quads)) == [(180, "a"), (0, "b"), (0, "b")]
    assert rows(models) == 4


async def test_without_rereading_every_line_is_read_once(models):
    quads = [upside_down(quad_of(UPRIGHT)), quad_of(OTHER)]
    options = RecognitionOptions(reread=False)
    assert summary(await read(models, picture(UPRIGHT, OTHER), quads, options)) == [(0, "a"), (0, "b")]
    assert rows(models) == 2


async def test_when_most_of_a_page_is_turned_the_page_is(models):
    quads = [upside_down(quad_of(UPRIGHT)), upside_down(quad_of(OTHER))]
    read_lines = await read(models, picture(UPRIGHT, OTHER), quads)
    assert (read_lines.turned, summary(read_lines)) == (180, [(180, "a"), (180, "b")])


async def test_a_tall_line_is_read_lying_and_as_it_stands(models):
    lying = picture(UPRIGHT)
    standing = np.ascontiguousarray(np.rot90(lying, 3))
    height = lying.shape[0]
    quad = quad_of(Bar(height - UPRIGHT.top - UPRIGHT.height, UPRIGHT.left, UPRIGHT.height, UPRIGHT.width))
    assert summary(await read(models, standing, [quad])) == [(270, "a")]
    assert rows(models) == 2


async def test_a_line_wider_than_the_last_bucket_is_read_in_pieces_and_counted(models):
    wide = Bar(40, 40, 900, 24, "c")
    read_lines = await read(models, picture(wide, width=1000), [quad_of(wide)], RecognitionOptions(reread=False))
    assert read_lines.split == 1
    assert rows(models) == 3
    assert set(summary(read_lines)[0][1]) == {"c"}


async def test_second_readings_are_timed_as_one_stage(models):
    times = StageTimes()
    await read(models, picture(UPRIGHT), [upside_down(quad_of(UPRIGHT))], times=times)
    assert list(times.seconds) == ["crops", "recognize", "ctc", "reread"]


class Weighing(Batcher):
    """Notes the pixels of the crops that it is given at a time."""

    def __init__(self, models):
        super().__init__(models, BatchLimits())
        self.pixels = []

    async def read(self, crops, **options):
        self.pixels.append(sum(crop.shape[0] * crop.shape[1] for crop in crops))
        return await super().read(crops, **options)


async def test_a_page_of_hundreds_of_lines_has_a_bounded_number_of_pixels_cut_out_at_a_time(models):
    quads = [quad_of(UPRIGHT), quad_of(OTHER)] * 200
    batcher = Weighing(models)
    with CpuPool(1) as pool:
        reader = LineReader(models, batcher, pool)
        read_lines = await reader.read(
            picture(UPRIGHT, OTHER), quads, REREADING, deadline=Deadline.after(60), times=StageTimes()
        )
    assert summary(read_lines) == [(0, "a"), (0, "b")] * 200
    assert len(batcher.pixels) == 2
    assert max(batcher.pixels) <= PORTION_PIXELS
