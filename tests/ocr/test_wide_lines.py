import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.ocr.elements import Character, Transcription
from gateway.ocr.wide_lines import Cut, cut_line, plan_cuts, stitch

LINE_HEIGHT = 48


def blank_line(width, colour=255):
    return np.full((LINE_HEIGHT, width, 3), colour, np.uint8)


def inked_line(width, gaps, *, paper=255, ink=0):
    """A line whose every column is inked, except those of `gaps`."""
    crop = blank_line(width, paper)
    crop[12:36] = ink
    for gap in gaps:
        crop[:, gap.start : gap.stop] = paper
    return crop


def written(text, *, score=1.0, steps=40.0):
    """A transcription with one character every two steps."""
    characters = tuple(Character(letter, score, 2.0 * place) for place, letter in enumerate(text))
    return Transcription(text, score if text else 0.0, characters, steps)


@pytest.mark.parametrize("width", [1, 639, 640])
def test_a_line_that_fits_is_not_cut(width):
    assert plan_cuts(blank_line(width), max_width=640) == ()


def test_a_blank_line_is_cut_in_equal_parts():
    assert [cut.column for cut in plan_cuts(blank_line(900), max_width=640)] == [450]


def test_a_line_is_cut_in_as_few_pieces_as_fit():
    assert len(plan_cuts(blank_line(641), max_width=640)) == 1
    assert len(plan_cuts(blank_line(6000), max_width=2560)) == 2


@pytest.mark.parametrize(("paper", "ink"), [(255, 0), (0, 255), (200, 120)])
def test_a_cut_goes_through_the_middle_of_a_gap_in_any_colours(paper, ink):
    crop = inked_line(900, [range(480, 488)], paper=paper, ink=ink)
    assert plan_cuts(crop, max_width=640) == (Cut(484, between_words=True),)


def test_colours_of_equal_brightness_are_told_apart():
    crop = blank_line(900)
    crop[:] = (200, 100, 100)
    crop[12:36] = (100, 100, 151)
    crop[:, 480:488] = (200, 100, 100)
    assert plan_cuts(crop, max_width=640) == (Cut(484, between_words=True),)


def test_a_gap_between_words_beats_a_nearer_gap_between_letters():
    crop = inked_line(900, [range(450, 453), range(400, 412)])
    assert 400 < plan_cuts(crop, max_width=640)[0].column < 412


def test_of_equal_gaps_the_nearer_one_is_cut():
    crop = inked_line(900, [range(400, 408), range(470, 478)])
    assert plan_cuts(crop, max_width=640)[0].column == 474


def test_a_gap_between_letters_is_none_between_words():
    crop = inked_line(900, [range(450, 453)])
    assert plan_cuts(crop, max_width=640)[0].between_words is False


def test_a_rule_under_the_text_hides_no_gap():
    crop = inked_line(900, [range(480, 490)])
    crop[44:46] = 0
    assert plan_cuts(crop, max_width=640)[0].between_words is True


def test_noise_on_the_paper_hides_no_gap():
    crop = inked_line(900, [range(480, 490)]).astype(np.int16)
    noise = np.random.default_rng(0).integers(-15, 16, crop.shape)
    noisy = np.clip(crop + noise, 0, 255).astype(np.uint8)
    assert plan_cuts(noisy, max_width=640)[0].between_words is True


def test_a_printed_line_is_cut_between_words():
    crop = blank_line(1200)
    cv2.putText(crop, "the quick brown fox jumps over the lazy dog again", (8, 34), 0, 1.4, (0, 0, 0), 2)
    assert [cut.between_words for cut in plan_cuts(crop, max_width=640)] == [True, True]


@given(st.integers(1, 4000), st.sampled_from([160, 320, 640, 1600, 2560]), st.integers(0, 2**32 - 1))
def test_pieces_fit_and_together_are_the_line(width, max_width, seed):
    crop = np.random.default_rng(seed).integers(0, 256, (LINE_HEIGHT, width, 3), np.uint8)
    pieces = cut_line(crop, plan_cuts(crop, max_width=max_width))
    assert all(1 <= piece.shape[1] <= max_width for piece in pieces)
    assert np.array_equal(np.concatenate(pieces, axis=1), crop)


@pytest.mark.parametrize(
    ("texts", "between_words", "text"),
    [
        (["whole"], [], "whole"),
        (["", ""], [True], ""),
        (["over", "the"], [True], "over the"),
        (["every", "where"], [False], "everywhere"),
        (["over,", "the"], [True], "over, the"),
        (["déjà", "été"], [True], "déjà été"),
        (["over ", "the"], [True], "over the"),
        (["over", " the"], [True], "over the"),
        (["over", "", "the"], [False, True], "over the"),
        (["over", "", "the"], [True, False], "over the"),
        (["over", "", "the"], [False, False], "overthe"),
        (["", "the", ""], [True, True], "the"),
        (["中文", "文字"], [True], "中文文字"),
        (["中文", "text"], [True], "中文text"),
        (["one", "two", "three"], [True, False], "one twothree"),
    ],
)
def test_texts_are_joined_with_a_space_where_a_cut_is_between_words(texts, between_words, text):
    pieces = [written(piece) for piece in texts]
    cuts = [Cut(320 * place, apart) for place, apart in enumerate(between_words, start=1)]
    assert stitch(pieces, cuts).text == text


def test_characters_keep_their_place_on_the_whole_line():
    line = stitch([written("ab", steps=37.5), written("c", steps=30.0)], [Cut(300)])
    assert [(character.text, character.step) for character in line.characters] == [("a", 0), ("b", 2), ("c", 37.5)]
    assert line.steps == 67.5


def test_a_space_at_a_cut_is_inferred_and_stands_at_the_cut():
    line = stitch([written("a"), written("b")], [Cut(320, between_words=True)])
    assert line.characters[1] == Character(" ", 0.0, 39.5, inferred=True)


def test_a_stitched_line_scores_the_mean_of_all_written_characters():
    pieces = [written("abc", score=1.0), written("d", score=0.5)]
    assert stitch(pieces, [Cut(320, between_words=True)]).score == 0.875
