"""Drawn pages of boxes, each given in the order in which a person reads it."""

import numpy as np
import pytest

from gateway.ocr.reading_order import reading_order

HEIGHT = 20


def box(left, top, width, height=HEIGHT):
    return np.array([[left, top], [left + width, top], [left + width, top + height], [left, top + height]], np.float32)


def text(left, top, lines=8, width=400, pitch=26):
    """A column of running text: full lines, but for the last of each paragraph of four."""
    return [box(left, top + pitch * line, width * 0.4 if line % 4 == 3 else width) for line in range(lines)]


def cells(left, top, widths, rows, *, pitch=26, gap=30):
    """A table, row by row."""
    lefts = left + np.cumsum([0, *(width + gap for width in widths[:-1])])
    return [box(x, top + pitch * row, width) for row in range(rows) for x, width in zip(lefts, widths, strict=True)]


def vertical(right, top, columns=6, height=400, pitch=40):
    """Columns of vertical text, from right to left."""
    return [box(right - HEIGHT - pitch * column, top, HEIGHT, height) for column in range(columns)]


HEADLINE = [box(40, 0, 820, 30)]
TWO = [*text(40, 60), *text(460, 60)]

PAGES = {
    "two columns": TWO,
    "columns whose lines are not level with each other": [*text(40, 60), *text(460, 71, lines=7, pitch=24)],
    "three columns": [*text(40, 0, width=260), *text(320, 0, width=260), *text(600, 0, width=260)],
    "a long column beside a short one": [*text(40, 0, lines=20), *text(460, 0, lines=3)],
    "two columns under a headline as close as a line": [box(40, 30, 820), *TWO],
    "two columns under a short headline in the middle": [box(380, 20, 120), *TWO],
    "text across the page between columns": [*TWO, *text(40, 280, width=820), *text(40, 500), *text(460, 500)],
    "a heading below columns, of the text that follows": [*TWO, box(40, 300, 150), *text(40, 330, width=820)],
    "a table across the foot of columns": [*TWO, *cells(40, 330, [200, 90, 90, 300], rows=5)],
    "a table in a column": [*text(40, 60), *cells(40, 300, [120, 90, 90], rows=4), *text(460, 60, lines=14)],
    "a form of short cells": cells(40, 0, [200, 200, 200], rows=10, gap=60),
    "a bill, whose prices are no column": cells(40, 0, [500, 80], rows=12, gap=100),
    "a table of contents": cells(40, 0, [60, 500, 40], rows=12, gap=40),
    "numbered lines": cells(0, 0, [20, 600], rows=12),
    "one column": text(40, 0, lines=20, width=800),
    "vertical columns, from the right": vertical(700, 0),
    "vertical columns under a level headline": [*HEADLINE, *vertical(860, 60)],
    "two tiers of vertical columns": [*vertical(860, 0, columns=12, height=300), *vertical(860, 340, 12, height=300)],
    "vertical columns to the left of level text": [*vertical(300, 0), *text(360, 0, lines=15)],
    "vertical columns to the right of level text": [*text(0, 0, lines=15), *vertical(800, 0)],
    "vertical columns below level text": [*text(40, 0, width=800), *vertical(840, 240, columns=18)],
}


@pytest.mark.parametrize("quads", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("skew", [-2, 0, 2])
def test_a_page_is_read_as_a_person_reads_it(quads, skew):
    angle = np.deg2rad(skew)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shuffled = np.random.default_rng(0).permutation(len(quads))
    order = reading_order([(quads[index] @ turn.T).astype(np.float32) for index in shuffled])
    assert [int(shuffled[index]) for index in order] == list(range(len(quads)))


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_columns_of_a_turned_page_are_read_in_its_own_frame(turned):
    angle = np.deg2rad(-turned)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    quads = [(quad @ turn.T).astype(np.float32) for quad in [*HEADLINE, *TWO]]
    assert reading_order(quads, turned) == list(range(len(quads)))


def test_level_text_on_a_vertical_page_keeps_its_order():
    page = [*text(0, 0, lines=3, width=860), *vertical(860, 150, columns=20)]
    assert reading_order(page, turned=270) == list(range(len(page)))
