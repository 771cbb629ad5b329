import numpy as np
import pytest

from gateway.ocr.resizing import resize


def stripes(height, width):
    """Columns that are black and white in turn."""
    return np.repeat(np.tile(np.array([[0, 255]], np.uint8), (height, width // 2))[..., None], 3, axis=2)


@pytest.mark.parametrize("size", [(1, 1), (10, 7), (40, 60), (400, 600)])
def test_the_size_is_the_one_asked_for(size):
    assert resize(stripes(40, 60), *size).shape == (*size, 3)


def test_the_same_size_changes_no_pixel():
    assert (resize(stripes(40, 60), 40, 60) == stripes(40, 60)).all()


@pytest.mark.parametrize("width", [30, 15, 10, 6])
def test_shrinking_averages_all_pixels_instead_of_skipping_some(width):
    assert np.ptp(resize(stripes(40, 60), 40, width)) <= 1
