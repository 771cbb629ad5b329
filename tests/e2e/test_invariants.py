"""The text of a page depends on its pixels and options: not on neighbours, chunks, graphs, layouts or backends."""

import asyncio
import random
from pathlib import Path

import httpx
import numpy as np
import pytest
import pytest_asyncio
from gateways import connected, embedded, pipeline_on
from rendered_pages import (
    blank_page,
    lines_of_receipt,
    lines_of_small_page,
    png,
    receipt,
    small_page,
    turned_page,
    wide_line,
)
from served_models import EDITED, FEW_SHAPES, ORIGINAL, SHAPED
from tritonclient.grpc import InferenceServerClient
from wrapped_backends import Dawdling, Narrowed, Shuffling, Watched

from gateway.concurrency import gather_all
from gateway.inference.batcher import BatchLimits
from gateway.ocr.options import DetectionOptions, PageOptions, RecognitionOptions

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

CORPUS = Path(__file__).parent.parent.parent.parent / "shared" / "corpus" / "images"
PAGES = {
    name: png(picture)
    for name, picture in {
        "lines": small_page(1),
        "upside down": turned_page(),
        "wide": wide_line(),
        "blank": blank_page(),
    }.items()
}
ONE_ROW = 1
THREE_SHORT_ROWS = 3 * 48 * 320
EVERYTHING = 64 * 48 * 2560


async def read_pages(backend, pages=PAGES, **choices):
    async with pipeline_on(backend, **choices) as read:
        return {name: await read(data) for name, data in pages.items()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone(triton):
    """The pages, read one after the other from edited models with the defaults."""
    async with connected(triton, EDITED) as backend:
        return await read_pages(backend)


def assert_same_page(page, expected):
    assert page.text == expected.text
    assert scores(page) == pytest.approx(scores(expected), abs=1e-4)
    np.testing.assert_allclose(quads(page), quads(expected), atol=0.5)
    assert page.warnings == expected.warnings


def scores(page):
    return [line.transcription.score for line in page.lines]


def quads(page):
    return np.array([line.region.quad for line in page.lines])


def assert_same_pages(pages, expected):
    assert pages.keys() == expected.keys()
    for name, page in pages.items():
        assert_same_page(page, expected[name])


async def test_the_pages_are_read_as_they_were_written(alone):
    assert alone["lines"].text.splitlines() == lines_of_small_page(1)
    assert [line.turned for line in alone["upside down"].lines] == [180] * 6
    assert [warning.code for warning in alone["wide"].warnings] == ["downscaled", "line_split"]
    assert alone["blank"].lines == ()


async def test_each_line_reaches_triton_in_one_row_and_no_chunk_is_above_its_area(triton):
    limits = BatchLimits(max_chunk_pixels=4 * 48 * 320)
    read_once = PageOptions(detection=DetectionOptions(min_side=0), recognition=RecognitionOptions(reread=False))
    async with connected(triton, EDITED) as backend:
        watched = Watched(backend)
        rows, calls = work_done(triton)
        async with pipeline_on(watched, limits=limits) as read:
            page = await read(png(receipt()), read_once)
    assert page.text.splitlines() == lines_of_receipt()
    assert await work_done_by_now(triton, (rows + 48, calls + len(watched.chunks)))
    assert sum(rows for rows, *_ in watched.chunks) == 48
    assert all(
        rows * height * width <= limits.max_chunk_pixels or rows == 1 for rows, height, width, _ in watched.chunks
    )


def work_done(triton):
    """Rows and calls that Triton itself has counted for the recogniser; it may merge calls when it runs them."""
    with InferenceServerClient(triton.grpc_address) as client:
        (model,) = client.get_inference_statistics(EDITED.recognition).model_stats
    return model.inference_count, model.inference_stats.success.count


async def work_done_by_now(triton, expected):
    """Whether Triton has counted so much; it counts a moment after it has answered."""
    for _ in range(100):
        if work_done(triton) == expected:
            return True
        await asyncio.sleep(0.02)
    return work_done(triton) == expected


async def test_neighbours_change_nothing(triton, alone):
    names = [*PAGES] * 3
    random.Random(1).shuffle(names)
    async with connected(triton, EDITED) as backend, pipeline_on(backend) as read:
        pages = await gather_all(read(PAGES[name]) for name in names)
    for name, page in zip(names, pages, strict=True):
        assert_same_page(page, alone[name])


@pytest.mark.parametrize("max_chunk_pixels", [ONE_ROW, THREE_SHORT_ROWS, EVERYTHING])
async def test_chunks_of_any_size_and_buckets_in_any_order_change_nothing(triton, alone, max_chunk_pixels):
    async with connected(triton, EDITED) as backend:
        limits = BatchLimits(max_chunk_pixels)
        pages = await read_pages(backend, limits=limits, around=lambda batcher: Shuffling(batcher, seed=2))
    assert_same_pages(pages, alone)


@pytest.mark.parametrize("seed", range(3))
async def test_chunks_that_finish_in_any_order_change_nothing(triton, alone, seed):
    async with connected(triton, EDITED) as backend:
        limits = BatchLimits(ONE_ROW, calls_in_flight=8)
        pages = await read_pages(Dawdling(backend, seed), limits=limits)
    assert_same_pages(pages, alone)


async def test_unedited_models_change_nothing(triton, alone):
    async with connected(triton, ORIGINAL) as backend:
        assert_same_pages(await read_pages(backend), alone)


@pytest.mark.parametrize("names", [EDITED, ORIGINAL], ids=["edited", "original"])
async def test_onnx_runtime_in_this_process_changes_nothing(repositories, alone, names):
    async with embedded(repositories[names], names) as backend:
        assert_same_pages(await read_pages(backend), alone)


async def test_one_model_per_shape_changes_nothing(triton):
    pages = {name: PAGES[name] for name in ("lines", "upside down", "blank")}
    async with connected(triton, EDITED) as backend:
        expected = await read_pages(Narrowed(backend, FEW_SHAPES.buckets), pages)
    async with connected(triton, SHAPED) as backend:
        assert backend.contract.recognition.buckets == FEW_SHAPES.buckets
        assert_same_pages(await read_pages(backend, pages), expected)


@pytest.mark.corpus
@pytest.mark.parametrize(
    "name", ["rapid_en_rec.jpg", "cnocr_multi-line_cn1.png", "easyocr_english.png", "docling_ocr_test_rot180.png"]
)
async def test_all_this_holds_for_pictures_from_elsewhere(triton, repositories, name):
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS} is not there")
    data = (CORPUS / name).read_bytes()
    async with connected(triton, EDITED) as backend, pipeline_on(backend) as read:
        expected = await read(data)
    assert expected.lines
    async with connected(triton, EDITED) as backend, pipeline_on(backend, limits=BatchLimits(ONE_ROW)) as read:
        assert_same_page(await read(data), expected)
    async with connected(triton, ORIGINAL) as backend, pipeline_on(backend) as read:
        assert_same_page(await read(data), expected)
    async with embedded(repositories[EDITED], EDITED) as backend, pipeline_on(backend) as read:
        assert_same_page(await read(data), expected)


def test_an_image_without_text_is_answered_with_no_lines(gateway):
    answer = httpx.post(f"{gateway}/v1/ocr", content=PAGES["blank"], trust_env=False, timeout=30)
    assert answer.status_code == 200
    (page,) = answer.json()["pages"]
    assert (page["width"], page["height"], page["text"], page["lines"]) == (480, 320, "", [])
