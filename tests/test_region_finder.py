"""Tiles through the whole pipeline, on models that see dark bars."""

import numpy as np
import pytest
from fake_models import Bar, FakeModels, picture, read

from gateway.ocr.options import DetectionOptions

TILED = DetectionOptions(min_side=0, limit_side=640, tile=True)


@pytest.fixture
def models():
    return FakeModels()


def boxes(page):
    quads = np.array([line.region.quad for line in page.lines])
    return np.column_stack([quads.min(axis=1), quads.max(axis=1)]).round().astype(int).tolist()


async def test_lines_are_found_once_and_whole_wherever_tiles_meet(models):
    bars = [Bar(250 + 16 * index, 40 + 60 * index, 300, 24, "abc"[index % 3]) for index in range(25)]
    page = await read(models, picture(*bars, height=1600, width=1300), detection=TILED)
    assert page.text.split() == [bar.letter for bar in bars]
    assert len(models.timeouts) > 6, "several calls to the detector"
    for (left, top, right, bottom), bar in zip(boxes(page), bars, strict=True):
        assert abs(left - bar.left) < 16 and abs(right - bar.left - bar.width) < 16  # noqa: PT018
        assert abs(top - bar.top) < 16 and abs(bottom - bar.top - bar.height) < 16  # noqa: PT018
    assert page.scaled == 1.0
    assert page.warnings == ()


async def test_small_print_is_lost_without_tiles_and_read_with_them(models):
    small = [Bar(100 + 400 * (index % 5), 100 + 200 * (index // 5), 60, 10) for index in range(20)]
    image = picture(*small, height=2000, width=2200)
    scaled = await read(models, image, detection=DetectionOptions(min_side=0, limit_side=640))
    tiled = await read(models, image, detection=TILED)
    assert len(scaled.lines) < len(tiled.lines) == 20
    assert [warning.code for warning in scaled.warnings][:1] == ["downscaled"]


async def test_an_image_that_fits_is_looked_at_as_a_whole(models):
    page = await read(models, picture(Bar(50, 50, 300, 24), height=400, width=640), detection=TILED)
    assert page.text == "a"
    assert len(models.timeouts) == 2, "one call to each model"


async def test_tiles_without_ink_are_not_shown_to_the_detector(models):
    bar = Bar(1650, 1230, 300, 24)
    page = await read(models, picture(bar, height=4000, width=4000), detection=TILED)
    assert [line.transcription.text for line in page.lines] == ["a"]
    assert len(models.timeouts) <= 7, "of a hundred tiles up to six, and the line"


async def test_an_image_without_any_ink_has_no_lines(models):
    page = await read(models, picture(height=1600, width=1300), detection=TILED)
    assert page.lines == ()
    assert models.timeouts == []
