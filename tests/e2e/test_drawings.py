"""One drawing of text in every way that a file may hold it: what the service reads is always the same."""

import httpx
import numpy as np
import pytest
from drawings import MODES, TEXT, drawing, file_of, stored_as

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ORIENTED = ["JPEG", "PNG", "WEBP", "TIFF", "HEIF", "AVIF"]


def read(gateway, data):
    response = httpx.post(f"{gateway}/v1/ocr", content=data, trust_env=False, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()["pages"][0]


@pytest.mark.parametrize("mode", MODES)
def test_the_text_is_the_same_in_every_mode(gateway, mode):
    page = read(gateway, MODES[mode]())
    assert page["text"] == TEXT
    assert (page["width"], page["height"]) == drawing().size


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("file_type", ORIENTED)
def test_the_text_is_the_same_in_every_orientation(gateway, file_type, orientation):
    page = read(gateway, file_of(stored_as(orientation), file_type, orientation=orientation))
    assert page["text"] == TEXT
    assert (page["width"], page["height"]) == drawing().size
    assert page["image"]["orientation_applied"] is (orientation != 1)
    assert page["lines"][0]["turned"] == 0


def test_the_drawing_would_not_be_read_if_it_were_not_turned(gateway):
    """So that the tests above prove something: stored mirrored and sent without metadata, it is another text."""
    assert read(gateway, file_of(stored_as(2), "PNG"))["text"] != TEXT


def test_quads_lie_on_the_upright_image(gateway):
    upright, turned = (read(gateway, file_of(stored_as(way), "PNG", orientation=way)) for way in (1, 6))
    for line, same in zip(upright["lines"], turned["lines"], strict=True):
        assert np.abs(np.array(line["quad"]) - same["quad"]).max() <= 1
