"""Words and characters stand where they were drawn: intersection over union, with the texts of `make boxes`."""

import httpx
import pytest

from loadtest.boxes.cases import CASES
from loadtest.boxes.overlap import overlap, read

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SIZE = 32

MEASURED = {
    "Latin, level": (0.915, 0.848),
    "Latin, turned by 7 degrees": (0.882, 0.825),
    "Latin, turned by 90 degrees": (0.820, 0.751),
    "Latin, turned by 180 degrees": (0.910, 0.846),
    "Latin, light on dark": (0.909, 0.852),
    "Latin, read in pieces": (0.930, 0.876),
    "Chinese, level": (None, 0.904),
    "Chinese, turned by 7 degrees": (None, 0.825),
    "Chinese, turned by 180 degrees": (None, 0.884),
    "Chinese, in a column": (None, 0.848),
}
"""Mean IoU of words and of characters, as `make boxes` shows them for letters of 32 pixels.

Chinese words are single characters with their punctuation, so only characters are compared there.
"""

SLACK = 0.02
"""Other versions of libraries draw and resample a little differently."""


@pytest.fixture(scope="module")
def client(gateway):
    with httpx.Client(base_url=gateway, timeout=60, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("case", MEASURED)
def test_words_and_characters_stand_where_they_were_drawn(client, measured, case):
    drawing = CASES[case](SIZE)
    if drawing is None:
        pytest.skip("no font with ideographs is installed (for example fonts-droid-fallback)")
    placed = read(client, drawing)
    characters = overlap(drawing.glyphs, placed.characters)
    words = overlap(drawing.words, placed.words)
    expected_words, expected_characters = MEASURED[case]
    measured(
        f"{case}: characters {characters.mean:.3f}"
        + (f", words {words.mean:.3f}" if expected_words else "")
        + " (mean IoU)"
    )
    assert characters.missing == 0
    assert characters.mean >= expected_characters - SLACK
    assert expected_words is None or (words.missing == 0 and words.mean >= expected_words - SLACK)
