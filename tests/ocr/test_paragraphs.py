"""Drawn pages of boxes, paragraph by paragraph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.ocr.page_frame import PageFrame
from gateway.ocr.paragraphs import paragraphs
from gateway.ocr.reading_order import reading_order


def box(left, top, width, height=20):
    return np.array([[left, top], [left + width, top], [left + width, top + height], [left, top + height]], np.float32)


def lines(left, top, widths, pitch=28, height=20):
    return [box(left, top + pitch * row, width, height) for row, width in enumerate(widths)]


def turned_clockwise(quads, degrees):
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return [(quad @ turn.T).astype(np.float32) for quad in quads]


PAGES = {
    "one line": [[box(0, 0, 100)]],
    "lines as usual": [lines(0, 0, [400, 400, 200])],
    "more white than usual": [lines(0, 0, [400, 400, 200]), lines(0, 100, [400, 400, 200])],
    "no more white, but first lines indented": [
        [box(40, 0, 360), *lines(0, 28, [400, 200])],
        [box(40, 84, 360), *lines(0, 112, [400, 200])],
    ],
    "items that hang out": [
        [box(0, 0, 400), *lines(30, 28, [370, 200])],
        [box(0, 84, 400), *lines(30, 112, [370, 200])],
    ],
    "double spacing": [lines(0, 0, [400, 400, 400, 100], pitch=44)],
    "a thicker heading": [[box(0, 0, 300, 40)], lines(0, 50, [400, 400, 100])],
    "two columns": [lines(0, 0, [400] * 5), lines(460, 0, [400] * 5)],
    "a number before its heading": [[box(0, 0, 30), box(45, 0, 300)], lines(0, 60, [400, 400, 200])],
    "cells of a table": [[box(x, y, 80)] for y in (0, 60, 120) for x in (0, 200, 400)],
    "vertical columns": [[box(400 - 32 * column, 0, 20, 300) for column in range(5)]],
}


@pytest.mark.parametrize("given_paragraphs", PAGES.values(), ids=PAGES)
def test_lines_are_grouped_as_a_person_sees_them(given_paragraphs):
    quads = [quad for paragraph in given_paragraphs for quad in paragraph]
    assert reading_order(quads) == list(range(len(quads)))
    found = paragraphs(quads, PageFrame())
    assert [len(one.lines) for one in found] == [len(paragraph) for paragraph in given_paragraphs]


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
@pytest.mark.parametrize("skew", [-4, 0, 4])
def test_the_quad_of_a_paragraph_starts_where_its_text_does(turned, skew):
    upright = lines(100, 50, [400, 400, 200])
    quads = turned_clockwise(upright, skew - turned)
    frame = PageFrame.of(quads, turned)
    assert (frame.turned, frame.skew) == (turned, pytest.approx(skew, abs=0.01))
    [paragraph] = paragraphs(quads, frame)
    [outline] = turned_clockwise([box(100, 50, 400, 76)], skew - turned)
    np.testing.assert_allclose(paragraph.quad, outline, atol=0.1)


def test_vertical_text_begins_at_the_upper_right():
    [paragraph] = paragraphs([box(400 - 32 * column, 0, 20, 300) for column in range(5)], PageFrame())
    np.testing.assert_allclose(paragraph.quad, [[420, 0], [420, 300], [272, 300], [272, 0]], atol=0.1)


def test_no_lines_make_no_paragraphs():
    assert paragraphs([], PageFrame()) == ()


QUADS = st.lists(
    st.builds(box, st.integers(0, 500), st.integers(0, 500), st.integers(1, 300), st.integers(1, 60)), max_size=25
)


@settings(deadline=None)
@given(QUADS, st.sampled_from([0, 90, 180, 270]))
def test_each_line_is_in_one_paragraph_in_order(quads, turned):
    found = paragraphs(quads, PageFrame.of(quads, turned))
    assert [line for one in found for line in one.lines] == list(range(len(quads)))
