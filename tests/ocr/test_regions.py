import json
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.ocr.decoding.files import decode_page
from gateway.ocr.decoding.limits import DecodeLimits
from gateway.ocr.detection import PreparedImage, prepare_detection
from gateway.ocr.geometry import grow_rectangle, order_corners, quad_size, rectangle_quads, turn_quad, whole_quad
from gateway.ocr.options import DetectionOptions
from gateway.ocr.regions import binarize, find_text_regions, score_quads

OPTIONS = DetectionOptions()
AS_IT_IS = replace(OPTIONS, unclip_ratio=0.0, crop_unclip_ratio=0.0)


def seen_at_full_size(height=400, width=600):
    return PreparedImage(np.zeros((height, width, 3), np.uint8), (height, width), (0, 0), (1.0, 1.0))


def map_of(*boxes, height=400, width=600, value=230):
    """A map with a kernel in each (left, top, right, bottom)."""
    probability = np.zeros((height, width), np.uint8)
    for left, top, right, bottom in boxes:
        probability[top:bottom, left:right] = value
    return probability


def box(left, top, right, bottom):
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def find(probability, options=OPTIONS, prepared=None):
    return find_text_regions(probability, prepared or seen_at_full_size(*probability.shape), options)


def area_shared(first, second):
    shared = cv2.intersectConvexConvex(first, second)[0]
    return shared / (cv2.contourArea(first) + cv2.contourArea(second) - shared)


class TestEmpty:
    @pytest.mark.parametrize("value", [0, 76])
    def test_a_map_without_text_has_no_regions(self, value):
        found = find(np.full((64, 64), value, np.uint8))
        assert found.regions == ()
        assert found.warnings == ()

    def test_a_map_full_of_text_is_one_region(self):
        (region,) = find(np.full((64, 64), 255, np.uint8)).regions
        assert region.quad == pytest.approx(whole_quad(64, 64))


class TestKernels:
    def test_a_kernel_is_found_to_the_pixel(self):
        (region,) = find(map_of((100, 50, 300, 80)), AS_IT_IS).regions
        assert region.quad == pytest.approx(box(100, 50, 300, 80), abs=1e-3)

    def test_the_reported_quad_and_the_crop_grow_by_their_own_ratios(self):
        (region,) = find(map_of((100, 50, 300, 80))).regions
        assert region.quad == pytest.approx(grow_rectangle(box(100, 50, 300, 80), 1.2), abs=1e-3)
        assert region.crop_quad == pytest.approx(grow_rectangle(box(100, 50, 300, 80), 1.6), abs=1e-3)

    def test_quads_are_float32(self):
        (region,) = find(map_of((100, 50, 300, 80))).regions
        assert region.quad.dtype == region.crop_quad.dtype == np.float32

    @settings(max_examples=50, deadline=None)
    @given(
        width=st.integers(30, 200), height=st.integers(12, 25), degrees=st.floats(-180, 180), quarters=st.integers(0, 3)
    )
    def test_a_tilted_kernel_is_enclosed_and_its_text_starts_at_the_left(self, width, height, degrees, quarters):
        kernel = order_corners(rectangle_quads(np.array([300, 200]), np.array([width, height]), np.array(degrees)))
        probability = np.zeros((400, 600), np.uint8)
        cv2.fillPoly(probability, [np.rint(turn_quad(kernel, 90 * quarters)).astype(np.int32)], 255)
        (region,) = find(probability, AS_IT_IS).regions
        assert area_shared(region.quad, kernel) > 0.7
        assert (order_corners(region.quad) == region.quad).all()

    def test_two_kernels_a_pixel_apart_are_one(self):
        assert len(find(map_of((100, 50, 200, 80), (201, 50, 300, 80))).regions) == 1
        assert len(find(map_of((100, 50, 200, 80), (202, 50, 300, 80))).regions) == 2

    def test_a_kernel_inside_a_ring_is_found_and_the_rings_hole_is_not(self):
        probability = map_of((50, 50, 350, 350))
        probability[60:340, 60:340] = 0
        probability[190:210, 150:250] = 230
        found = find(probability, replace(AS_IT_IS, box_threshold=0.0))
        assert [round(float(quad_size(region.quad)[0])) for region in found.regions] == [300, 100]

    @pytest.mark.parametrize(("side", "count"), [(1, 0), (2, 0), (3, 1), (4, 1)])
    def test_kernels_thinner_than_three_pixels_are_noise(self, side, count):
        options = replace(OPTIONS, box_threshold=0.0)
        assert len(find(map_of((100, 50, 200, 50 + side)), options).regions) == count
        assert len(find(map_of((100, 50, 100 + side, 150)), options).regions) == count

    def test_single_pixels_at_every_edge_are_no_regions(self):
        assert find(map_of((0, 0, 1, 1), (599, 0, 600, 1), (0, 399, 1, 400), (599, 399, 600, 400))).regions == ()


class TestBinarize:
    @pytest.mark.parametrize(
        ("threshold", "lowest"), [(0.0, 0), (0.2, 51), (0.3, 77), (0.4, 102), (0.6, 153), (0.9, 230), (1.0, 255)]
    )
    def test_the_threshold_itself_is_text(self, threshold, lowest):
        values = np.arange(256, dtype=np.uint8).repeat(3)[None]
        assert int(np.flatnonzero(binarize(values, threshold)[0])[0]) == lowest * 3

    def test_text_reaches_one_pixel_further_right_and_down(self):
        mask = binarize(map_of((3, 2, 5, 4), height=8, width=8), 0.3)
        assert (mask == map_of((3, 2, 6, 5), height=8, width=8, value=1)).all()


class TestScores:
    def test_the_score_is_the_mean_probability_inside(self):
        probability = map_of((100, 50, 200, 80), value=255)
        probability[50:80, 150:200] = 127
        (score,) = score_quads(probability, box(100, 50, 199, 79)[None])
        assert score == pytest.approx((255 + 127) / 2 / 255, abs=1e-3)

    def test_no_quads_have_no_scores(self):
        assert score_quads(map_of(), np.zeros((0, 4, 2), np.float32)).shape == (0,)

    def test_a_quad_that_reaches_outside_is_scored_by_what_is_inside(self):
        scores = score_quads(np.full((40, 60), 51, np.uint8), np.stack([box(-9, -9, 70, 50), box(50, 30, 90, 90)]))
        assert scores == pytest.approx([0.2, 0.2])

    @settings(max_examples=50, deadline=None)
    @given(degrees=st.floats(-90, 90), width=st.integers(1, 500), height=st.integers(1, 300))
    def test_it_is_between_the_least_and_the_most(self, degrees, width, height):
        probability = np.random.default_rng(width).integers(100, 200, (400, 600), np.uint8)
        quads = rectangle_quads(np.array([[300, 200]]), np.array([[width, height]]), np.array([degrees]))
        assert 100 / 255 <= score_quads(probability, quads)[0] <= 199 / 255

    @pytest.mark.parametrize(("value", "count"), [(120, 0), (140, 1)])
    def test_regions_below_the_box_threshold_are_dropped(self, value, count):
        found = find(map_of((100, 50, 300, 80), value=value), replace(OPTIONS, box_threshold=0.5))
        assert len(found.regions) == count


class TestWayBack:
    def test_regions_are_in_pixels_of_the_image(self):
        prepared = PreparedImage(np.zeros((400, 600, 3), np.uint8), (760, 1100), (20, 10), (2.0, 2.0))
        (region,) = find(map_of((120, 60, 320, 90)), AS_IT_IS, prepared).regions
        assert region.quad == pytest.approx(box(200, 100, 600, 160), abs=1e-2)

    def test_regions_in_the_padding_are_dropped(self):
        prepared = PreparedImage(np.zeros((400, 600, 3), np.uint8), (100, 600), (0, 150), (1.0, 1.0))
        found = find(map_of((50, 20, 300, 40), (50, 190, 300, 210), (50, 300, 300, 320)), OPTIONS, prepared)
        assert [float(region.quad[0, 1]) // 10 for region in found.regions] == [2]

    def test_reported_quads_end_at_the_image_and_crops_go_on(self):
        (region,) = find(map_of((0, 0, 600, 30))).regions
        assert region.quad[:, 0].min() == 0
        assert region.quad[:, 0].max() == 600
        assert region.quad[:, 1].min() == 0
        assert region.crop_quad[:, 0].max() > 600
        assert region.crop_quad[:, 1].min() < 0


class TestOrderAndLimit:
    BOXES = ((300, 50, 500, 80), (20, 50, 200, 80), (20, 150, 200, 180), (20, 300, 500, 330))

    def test_regions_come_from_top_to_bottom(self):
        found = find(map_of(*self.BOXES[::-1]))
        assert [float(region.quad[0, 1]) for region in found.regions] == sorted(
            float(region.quad[0, 1]) for region in found.regions
        )
        assert len(found.regions) == 4

    def test_the_lowest_scores_are_cut_with_a_warning(self):
        probability = map_of(*self.BOXES)
        probability[150:180, 20:200] = 200
        found = find(probability, replace(OPTIONS, max_regions=3))
        assert [warning.code for warning in found.warnings] == ["regions_cut"]
        assert found.warnings[0].detail == "4 text regions were found; the 3 with the highest scores were kept"
        assert len(found.regions) == 3
        assert all(region.score > 0.8 for region in found.regions)

    def test_as_many_as_allowed_are_no_cut(self):
        found = find(map_of(*self.BOXES), replace(OPTIONS, max_regions=4))
        assert found.warnings == ()
        assert len(found.regions) == 4

    def test_the_same_map_gives_the_same_regions(self):
        noise = cv2.resize(np.random.default_rng(0).integers(0, 256, (60, 60), np.uint8), (600, 600))
        first, second = (find(noise, replace(OPTIONS, binarize_threshold=0.7)) for _ in range(2))
        assert len(first.regions) > 50
        assert all(
            (a.quad == b.quad).all() and a.score == b.score for a, b in zip(first.regions, second.regions, strict=True)
        )


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1), step=st.sampled_from([1, 2, 8]))
def test_any_map_gives_finite_quads_and_scores(seed, share, step):
    dice = np.random.default_rng(seed)
    probability = (dice.random((96 // step, 128 // step)) < share).astype(np.uint8) * 255
    probability = probability.repeat(step, axis=0).repeat(step, axis=1)
    for region in find(probability, replace(OPTIONS, box_threshold=0.0)).regions:
        assert np.isfinite(region.quad).all()
        assert np.isfinite(region.crop_quad).all()
        assert 0 <= region.score <= 1
        assert region.quad.min() >= 0
        assert (region.quad.max(axis=0) <= (128, 96)).all()


@pytest.mark.corpus
def test_the_kernels_of_a_page_of_1330_lines_are_found_where_they_are(corpus):
    labels = map(json.loads, (corpus / "labels.jsonl").read_text().splitlines())
    label = next(record for record in labels if "nics" in record["file"])
    image = decode_page((corpus / label["file"]).read_bytes(), DecodeLimits()).image
    prepared = prepare_detection(image, replace(OPTIONS, limit_side=4200, min_side=2550))
    lines = order_corners(np.array([line["quad"] for line in label["lines"]], np.float32))
    kernels = grow_rectangle(lines / prepared.scale + prepared.offset, -1.0)
    probability = np.zeros(prepared.tensor.shape[:2], np.uint8)
    for kernel in kernels:
        cv2.fillPoly(probability, [np.rint(kernel).astype(np.int32)], 230)
    found = find_text_regions(probability, prepared, OPTIONS)
    middles = np.array([region.crop_quad.mean(axis=0) for region in found.regions])
    distances = np.linalg.norm(middles[None] - lines.mean(axis=1)[:, None], axis=-1).min(axis=1)
    assert len(lines) == 1330
    assert (distances < 1).sum() > 1320  # the labels of a few lines overlap
    assert found.warnings == ()
