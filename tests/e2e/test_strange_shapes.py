"""Images that are no pages: thin, tiny, blank or full of noise. Each is answered, within bounds."""

import httpx
import numpy as np
import pytest
from drawings import file_of
from PIL import Image
from rendered_pages import page

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

NOISE = np.random.default_rng(0)


def blank(width, height, shade):
    return np.full((height, width), shade, np.uint8)


SHAPES = {
    "one pixel": blank(1, 1, 255),
    "one black pixel": blank(1, 1, 0),
    "a strip of 20 x 16,000": blank(20, 16_000, 255),
    "a strip of 16,000 x 20": blank(16_000, 20, 255),
    "a thread of 1 x 20,000": blank(1, 20_000, 255),
    "all black": blank(1500, 1000, 0),
    "all white": blank(1500, 1000, 255),
    "all grey": blank(1500, 1000, 128),
    "noise": NOISE.integers(0, 256, (600, 800), np.uint8),
    "coarse noise": NOISE.integers(0, 2, (60, 80), np.uint8).repeat(10, axis=0).repeat(10, axis=1) * 255,
}


def read(gateway, pixels, **options):
    response = httpx.post(
        f"{gateway}/v1/ocr",
        content=file_of(Image.fromarray(pixels), "PNG"),
        params=options,
        trust_env=False,
        timeout=60,
    )
    assert response.status_code == 200, response.text
    return response.json()["pages"][0]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("options", [{}, {"tile": "true"}, {"detect": "false"}])
def test_a_shape_without_text_has_next_to_none(gateway, name, options):
    answer = read(gateway, SHAPES[name], **options)
    assert (answer["height"], answer["width"]) == SHAPES[name].shape
    assert len(answer["lines"]) <= (5 if "noise" in name else 1)


def test_a_line_of_ten_thousand_pixels_is_read_to_its_end(gateway):
    words = " ".join(f"Amount {number}" for number in range(100, 160))
    strip = np.asarray(page([words], width=12_000, height=64, size=28).convert("L"))
    text = read(gateway, strip, limit_side=4000)["text"].replace("\n", " ")
    assert text.split()[:2] == ["Amount", "100"]
    assert sum(f"Amount {number}" in text for number in range(100, 160)) >= 55


def test_small_print_on_a_large_plan_is_read_in_tiles(gateway):
    """Captions of 12 pixels on nine megapixels: scaled down to 960 pixels, many are lost."""
    plan = Image.new("RGB", (3_000, 3_000), "white")
    captions = [(f"Valve {number}", 350 * (number % 8) + 75, 350 * (number // 8) + 90) for number in range(60)]
    for caption, left, top in captions:
        plan.paste(page([caption], width=110, height=36, size=12), (left, top))
    pixels = np.asarray(plan)
    sizes = {"limit_side": "960", "timeout": "60"}
    scaled, tiled = read(gateway, pixels, **sizes), read(gateway, pixels, **sizes, tile="true")
    with_tiles, without = (
        sum(caption in answer["text"].splitlines() for caption, _, _ in captions) for answer in (tiled, scaled)
    )
    assert with_tiles >= 57
    assert len(tiled["lines"]) <= 63, "none is found twice"
    assert without < with_tiles - 5
    assert tiled["image"]["scaled"] == 1.0
