"""Whatever happens to a file, it is decoded within its limits or refused with an error of ours."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import ImageError
from gateway.ocr.decoding.files import decode_page, inspect_file
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.options import DocumentOptions
from tests.fuzz.seeds import DECODE, seeds

FILES = [seed[1:] for seed in seeds() if seed.startswith(DECODE)]
LIMITS = DecodeLimits(max_pixels=1_000_000, max_side=5_000)
OPTIONS = DocumentOptions(dpi=72, text_layer="only")


@st.composite
def damaged_files(draw):
    """A file of some type with a few of its bytes changed, taken out, or cut off."""
    data = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data) - 1))
        data[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=4))
        if not data:
            break
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(damaged_files() | st.binary(max_size=200))
def test_a_damaged_file_is_decoded_or_refused(data):
    try:
        pages = inspect_file(data, LIMITS, OPTIONS).page_pixels
        image = decode_page(data, LIMITS, 1, OPTIONS).image
    except ImageError:
        return
    assert 0 < max(pages) <= LIMITS.max_pixels
    assert image.ndim == 3
    assert image.shape[0] * image.shape[1] <= LIMITS.max_pixels
