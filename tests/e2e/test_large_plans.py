"""A plan of a hundred megapixels, most of it empty: its small print is read whole, wherever tiles meet."""

import time

import httpx
import numpy as np
import pytest
from drawings import file_of
from gateways import ONLY_REQUESTS, running_gateway
from PIL import Image, ImageDraw, ImageFont

from gateway.ocr.tiling import spans

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SIDE, TILE = 10_000, 960
ALLOWED = {
    "OCR_MAX_PIXELS": "100000000",
    "OCR_MAX_PIXELS_UNDER_WAY": "400000000",
    "OCR_DECODER_MEMORY_BYTES": "3000000000",
}
LONG = "The main pipe runs along the wall, under the yard and past the third gate, to the pump behind the boiler house"


def captions():
    """Text with its place: around a corner of four tiles, in two corners of the plan, and a line across three tiles."""
    seam = spans(SIDE, TILE)[5].core_end
    around = [(f"Valve of pump {number}", seam - 90, seam - 180 + 48 * (number - 10)) for number in range(10, 19)]
    corners = [("North gate", 10, 10), ("South gate", SIDE - 200, SIDE - 60)]
    return [*around, *corners, (LONG, seam - 500, seam + 400)]


def plan():
    """Grey (10,000, 10,000)."""
    drawn = Image.new("L", (SIDE, SIDE), 255)
    for text, left, top in captions():
        ImageDraw.Draw(drawn).text((left, top), text, 20, ImageFont.load_default(20))
    return drawn


def test_small_print_on_a_hundred_megapixels_is_read_once_and_whole(triton):
    data = file_of(plan(), "PNG")
    with running_gateway(triton.grpc_address, **ONLY_REQUESTS, **ALLOWED) as url:
        started = time.monotonic()
        params = {"tile": "true", "limit_side": str(TILE), "timeout": "120"}
        response = httpx.post(f"{url}/v1/ocr", content=data, params=params, trust_env=False, timeout=130)
        seconds = time.monotonic() - started
    assert response.status_code == 200, response.text
    [read] = response.json()["pages"]
    print(f"{len(data):,} bytes, {len(spans(SIDE, TILE)) ** 2} tiles: {seconds:.1f} s")
    print(response.headers["server-timing"])
    texts, drawn = [line["text"] for line in read["lines"]], [text for text, _, _ in captions()]
    assert set(texts) <= set(drawn), "none is cut"
    assert len(set(texts)) == len(texts), "none is there twice"
    assert len(texts) >= len(drawn) - 1, "the detector may overlook one"
    assert (read["width"], read["height"], read["image"]["scaled"]) == (SIDE, SIDE, 1.0)
    for line in read["lines"]:
        left, top = np.min(line["quad"], axis=0)
        [place] = [(x, y) for text, x, y in captions() if text == line["text"]]
        assert np.abs(np.array(place) - (left, top)).max() < 40
