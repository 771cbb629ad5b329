import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.ocr.detection import prepare_detection
from gateway.ocr.geometry import whole_quad
from gateway.ocr.options import DetectionOptions

OPTIONS = DetectionOptions()
SHAPES = ((736, 736), (736, 1312), (1312, 736), (1440, 1440), (2016, 2016))


def paper(height, width, color=(200, 210, 220)):
    return np.full((height, width, 3), color, np.uint8)


def place_of_image(prepared):
    """(left, top, right, bottom) of the image in the tensor, from the way back alone."""
    (left, top), (x, y), (height, width) = prepared.offset, prepared.scale, prepared.image_shape
    return left, top, round(left + width / x), round(top + height / y)


class TestScale:
    # The tensor's sides are those of the scaled image, rounded up to 32.
    @pytest.mark.parametrize(
        ("shape", "tensor"),
        [
            ((1, 1), (192, 192)),  # a frame of 96, enlarged twice
            ((78, 362), (192, 736)),  # enlarged at most twice
            ((600, 800), (736, 992)),  # the shorter side to 736
            ((736, 1000), (736, 1024)),  # as it is
            ((1404, 993), (1408, 1024)),  # as it is
            ((4000, 3000), (2016, 1504)),  # the longer side to 2000
            ((2679, 932), (2144, 736)),  # a receipt: the shorter side keeps 736
            ((8000, 1000), (5888, 736)),
            ((12000, 12000), (2016, 2016)),
            ((12000, 1), (5888, 736)),
            ((1, 12000), (736, 5888)),
        ],
    )
    def test_sides_follow_the_rules(self, shape, tensor):
        assert prepare_detection(paper(*shape), OPTIONS).tensor.shape == (*tensor, 3)

    @pytest.mark.parametrize("limit", [320, 640, 1280])
    @pytest.mark.parametrize("shape", [(200, 300), (1000, 1400), (3000, 3000)])
    def test_the_limit_holds_for_pages_of_usual_shape(self, shape, limit):
        prepared = prepare_detection(paper(*shape), DetectionOptions(limit_side=limit), side_multiple=1)
        assert max(prepared.tensor.shape) <= limit

    def test_pixels_at_full_resolution_are_not_resampled(self):
        image = np.random.default_rng(0).integers(0, 256, (800, 1000, 3), np.uint8)
        assert (prepare_detection(image, OPTIONS).tensor[:800, :1000] == image).all()

    def test_turning_an_image_turns_its_tensor_shape(self):
        for shape in [(100, 900), (700, 2500), (40, 30)]:
            tall = prepare_detection(paper(*shape), OPTIONS).tensor.shape
            wide = prepare_detection(paper(*shape[::-1]), OPTIONS).tensor.shape
            assert tall == (wide[1], wide[0], 3)


@settings(max_examples=40, deadline=None)
@given(
    height=st.integers(1, 4000),
    width=st.integers(1, 4000),
    limit=st.integers(64, 2500),
    multiple=st.sampled_from([1, 32, 64]),
)
def test_any_image_fits_a_bounded_tensor_and_maps_back_onto_itself(height, width, limit, multiple):
    prepared = prepare_detection(paper(height, width), DetectionOptions(limit_side=limit), side_multiple=multiple)
    rows, columns, _ = prepared.tensor.shape
    left, top, right, bottom = place_of_image(prepared)
    assert rows % multiple == columns % multiple == 0
    assert rows * columns <= (1.1 * limit**2) + (rows + columns) * multiple
    assert 0 <= left < right <= columns
    assert 0 <= top < bottom <= rows
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    assert prepared.to_image(corners) == pytest.approx(whole_quad(height, width), abs=0.01)


class TestPadding:
    def test_a_thin_line_gets_room_on_both_sides(self):
        prepared = prepare_detection(paper(20, 400), OPTIONS)
        left, top, right, bottom = place_of_image(prepared)
        assert (left, right) == (0, 800)
        assert (top, bottom) == (76, 116)
        assert prepared.tensor.shape == (192, 800, 3)

    def test_a_long_line_gets_an_eighth_of_its_length(self):
        top, bottom = place_of_image(prepare_detection(paper(100, 1600), OPTIONS))[1::2]
        assert bottom - top == 200
        assert top == 100

    def test_it_has_the_median_colour_of_the_border(self):
        image = paper(20, 400)
        image[5:15, 10:390] = 0
        image[:, 0] = 255
        tensor = prepare_detection(image, OPTIONS).tensor
        assert (tensor[:70] == (200, 210, 220)).all()
        assert (tensor[120:] == (200, 210, 220)).all()

    def test_it_is_to_the_right_and_below_where_only_the_multiple_wants_it(self):
        assert place_of_image(prepare_detection(paper(810, 1010), OPTIONS)) == (0, 0, 1010, 810)


class TestShapes:
    @pytest.mark.parametrize(
        ("shape", "tensor"),
        [
            ((300, 300), (736, 736)),
            ((736, 736), (736, 736)),
            ((737, 737), (1440, 1440)),
            ((700, 1200), (736, 1312)),
            ((1200, 700), (1312, 736)),
            ((1404, 993), (1440, 1440)),
            ((4000, 3000), (2016, 2016)),
        ],
    )
    def test_the_smallest_that_holds_the_image_is_taken(self, shape, tensor):
        assert prepare_detection(paper(*shape), OPTIONS, shapes=SHAPES).tensor.shape == (*tensor, 3)

    def test_an_image_stands_at_the_same_place_at_the_same_scale_as_without(self):
        for image in (paper(20, 300), paper(900, 1000), paper(4000, 3000)):
            free, closed = prepare_detection(image, OPTIONS), prepare_detection(image, OPTIONS, shapes=SHAPES)
            assert (free.offset, free.scale) == (closed.offset, closed.scale)

    @pytest.mark.parametrize(
        ("shape", "scale"),
        [((900, 1000), 320 / 900), ((1000, 900), 320 / 900), ((100, 900), 640 / 900), ((3000, 400), 640 / 3000)],
    )
    def test_an_image_that_none_holds_is_scaled_down_to_the_one_that_shows_it_largest(self, shape, scale):
        shapes = ((320, 320), (320, 640), (640, 320))
        prepared = prepare_detection(paper(*shape), OPTIONS, shapes=shapes)
        left, top, right, bottom = place_of_image(prepared)
        rows, columns, _ = prepared.tensor.shape
        assert (rows, columns) in shapes
        assert 0 <= left < right <= columns
        assert 0 <= top < bottom <= rows
        assert (bottom - top) / shape[0] == pytest.approx(scale, rel=0.01)


class TestWarnings:
    @pytest.mark.parametrize("shape", [(10, 10), (500, 700), (1404, 993), (2000, 2000), (2000, 800)])
    def test_none_where_the_detector_sees_every_pixel(self, shape):
        assert prepare_detection(paper(*shape), OPTIONS).warnings == ()

    def test_a_large_page_says_both_sizes(self):
        (warning,) = prepare_detection(paper(4000, 3000), OPTIONS).warnings
        assert warning.code == "downscaled"
        assert "1500 x 2000" in warning.detail
        assert "3000 x 4000" in warning.detail

    def test_so_does_a_page_larger_than_every_served_shape(self):
        (warning,) = prepare_detection(paper(800, 800), OPTIONS, shapes=((736, 736),)).warnings
        assert warning.code == "downscaled"
        assert "736 x 736" in warning.detail
